// Decodes JPEG and PNG files in memory, by libjpeg-turbo and libpng, to the values of
// tf.io.decode_image. Orientation in EXIF data (exif.h) is ignored, as there.
#ifndef TPURUN_DATA_IMAGES_DECODE_H_
#define TPURUN_DATA_IMAGES_DECODE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/images/image.h"

namespace tpurun {

struct DecodeOptions {
  // Of the result: 0 (as many as the file has), 1 (grey), 3 (RGB), or 4 (RGBA; not of a JPEG).
  int channels = 0;
  // JPEG: the image is decoded at 1 / ratio of its size, rounded up. 1, 2, 4 or 8.
  int ratio = 1;
  // JPEG: the inverse transform of cosines by the quick integer method, as TensorFlow does by
  // default, or by the accurate one.
  bool accurate = false;
};

// "JPEG" or "PNG" if the bytes begin like one, else nullptr.
const char* ImageFormatOf(std::string_view bytes);

// An encoded image. Errors are DataLoss and say what the bytes are: truncated, a GIF, too large.
class EncodedImage {
 public:
  virtual ~EncodedImage() = default;
  // Reads the header. `bytes` must outlive the result.
  static absl::StatusOr<std::unique_ptr<EncodedImage>> Open(std::string_view bytes,
                                                            const DecodeOptions& options);
  // "JPEG" or "PNG".
  virtual const char* format() const = 0;
  // Of the decoded image.
  const ImageSize& size() const { return size_; }
  // Whether the mark behind the pixels is there, which a file that was cut off lacks. To be called
  // before Decode.
  virtual bool HasEnd() const = 0;
  // Writes the u8 pixels of a window that lies within the image to `out`, row after row, each row
  // `stride` bytes after the one before it. They are those of the whole decoded image. To be called
  // once. Damage of a JPEG behind the window may not be noticed.
  virtual absl::Status Decode(const ImageWindow& window, int64_t stride, uint8_t* out);
  // The same: calls `take` with row after row of the window. A row is valid until it returns.
  using TakeRow = std::function<void(const uint8_t* row)>;
  virtual absl::Status DecodeRows(const ImageWindow& window, const TakeRow& take) = 0;

 protected:
  ImageSize size_;
};

// True if the bytes begin as those of a JPEG.
bool IsJpeg(std::string_view bytes);
// Opens a JPEG or a PNG, whose first bytes have been checked.
absl::StatusOr<std::unique_ptr<EncodedImage>> OpenJpeg(std::string_view bytes,
                                                       const DecodeOptions& options);
absl::StatusOr<std::unique_ptr<EncodedImage>> OpenPng(std::string_view bytes,
                                                      const DecodeOptions& options);

// DataLoss if an image of that size is too large to be decoded.
absl::Status CheckImageSize(const ImageSize& size);

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_DECODE_H_
