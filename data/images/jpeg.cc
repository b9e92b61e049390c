#include <csetjmp>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "data/images/rgb_jpeg.h"
#include "runtime/base/status.h"
// After <cstdio>, whose types they use.
#include "jerror.h"
#include "jpeglib.h"

namespace tpurun {
namespace {

// libjpeg reports an error by a function that must not return: it jumps to where `Guarded` was
// called.
struct JpegErrors {
  jpeg_error_mgr manager;  // the first member: libjpeg has a pointer to it
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  bool ends_early = false;
};

JpegErrors& ErrorsOf(j_common_ptr info) { return *reinterpret_cast<JpegErrors*>(info->err); }

[[noreturn]] void OnError(j_common_ptr info) {
  JpegErrors& errors = ErrorsOf(info);
  errors.manager.format_message(info, errors.message);
  std::longjmp(errors.jump, 1);
}

// Warnings: libjpeg goes on with what it has. Only missing data is refused, as in TensorFlow.
void OnMessage(j_common_ptr info, int level) {
  if (level >= 0) return;
  JpegErrors& errors = ErrorsOf(info);
  if (errors.manager.msg_code == JWRN_JPEG_EOF) errors.ends_early = true;
  ++errors.manager.num_warnings;
}

void OnOutput(j_common_ptr) {}

// An image of a few kilobytes may have its pixels refined by any number of scans, each of which
// takes as long as the image is large. Encoders make about 10.
void CheckScans(j_common_ptr info) {
  constexpr int kMostScans = 500;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  JpegErrors& errors = ErrorsOf(info);
  std::snprintf(errors.message, sizeof(errors.message), "it has more than %d scans", kMostScans);
  std::longjmp(errors.jump, 1);
}

// The right to hold the coefficients of a large image, which are in memory as a whole if the image
// comes in several scans: up to 512 MiB. Threads that decode such images do it in turn.
std::unique_lock<std::recursive_mutex> TurnOfLargeImages() {
  static auto& mutex = *new std::recursive_mutex;
  return std::unique_lock(mutex);
}

class JpegImage : public EncodedImage {
 public:
  JpegImage() {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = OnError;
    errors_.manager.emit_message = OnMessage;
    errors_.manager.output_message = OnOutput;
    progress_.progress_monitor = CheckScans;
  }
  ~JpegImage() override { jpeg_destroy_decompress(&info_); }

  // To be called first.
  absl::Status ReadHeader(std::string_view bytes) {
    return Guarded([&] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      jpeg_read_header(&info_, TRUE);
    });
  }
  bool is_cmyk() const {
    return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  }
  // Adobe's programs write CMYK inverted: 255 is no ink.
  bool is_adobes() const { return info_.saw_Adobe_marker != 0; }

  absl::Status Open(const DecodeOptions& options) {
    if (is_cmyk()) {
      return absl::DataLossError("a JPEG in CMYK, want grey or RGB; convert it first");
    }
    if (options.channels == 4) {
      return absl::DataLossError("a JPEG, which has no fourth channel; want a PNG for channels: 4");
    }
    const int channels = options.channels == 0 ? info_.num_components : options.channels;
    if (channels != 1 && channels != 3) {
      return absl::DataLossError(absl::StrCat("a JPEG with ", channels, " channels, want 1 or 3"));
    }
    return OpenAs(channels == 1 ? JCS_GRAYSCALE : JCS_RGB, channels, options);
  }
  // The pixels are to be decoded to C, M, Y and K. Only if is_cmyk().
  absl::Status OpenCmyk() { return OpenAs(JCS_CMYK, 4, {}); }

  const char* format() const override { return "JPEG"; }

  bool HasEnd() const override {
    const auto* const rest = reinterpret_cast<const char*>(info_.src->next_input_byte);
    // Within a scan 0xff is never followed by 0xd9.
    return std::string_view(rest, info_.src->bytes_in_buffer).find("\xff\xd9") !=
           std::string_view::npos;
  }

  absl::Status Decode(const ImageWindow& window, int64_t stride, uint8_t* out) override {
    if (window.width < size_.width) return EncodedImage::Decode(window, stride, out);
    // Whole rows are decoded to their places.
    WaitForTurn();
    return Guarded([&] {
      jpeg_start_decompress(&info_);
      if (window.y > 0) jpeg_skip_scanlines(&info_, window.y);
      for (int64_t y = 0; y < window.height; ++y) {
        JSAMPROW row = out + y * stride;
        jpeg_read_scanlines(&info_, &row, 1);
      }
    });
  }

  absl::Status DecodeRows(const ImageWindow& window, const TakeRow& take) override {
    JDIMENSION first = 0, columns = info_.output_width;
    WaitForTurn();
    RETURN_IF_ERROR(Guarded([&] {
      jpeg_start_decompress(&info_);
      if (window.width < size_.width) ChooseColumns(window, &first, &columns);
    }));
    row_.resize(static_cast<size_t>(columns) * size_.channels);
    const size_t begin = (window.x - first) * size_.channels;
    return Guarded([&] {
      if (window.y > 0) jpeg_skip_scanlines(&info_, window.y);
      for (int64_t y = 0; y < window.height; ++y) {
        JSAMPROW row = row_.data();
        jpeg_read_scanlines(&info_, &row, 1);
        take(row + begin);
      }
    });
  }

 private:
  absl::Status OpenAs(J_COLOR_SPACE colors, int channels, const DecodeOptions& options) {
    RETURN_IF_ERROR(CheckImageSize({info_.image_height, info_.image_width, channels}));
    info_.out_color_space = colors;
    info_.scale_num = 1;
    info_.scale_denom = options.ratio;
    info_.dct_method = options.accurate ? JDCT_ISLOW : JDCT_IFAST;
    RETURN_IF_ERROR(Guarded([&] { jpeg_calc_output_dimensions(&info_); }));
    size_ = {info_.output_height, info_.output_width, channels};
    return absl::OkStatus();
  }

  // To be called before decoding begins.
  void WaitForTurn() {
    constexpr int64_t kLarge = 64 << 20;
    if (!jpeg_has_multiple_scans(&info_)) return;
    int64_t coefficients = 0;
    for (int i = 0; i < info_.num_components; ++i) {
      const jpeg_component_info& component = info_.comp_info[i];
      coefficients += int64_t{component.width_in_blocks} * component.height_in_blocks * DCTSIZE2;
    }
    if (coefficients * int64_t{sizeof(JCOEF)} > kLarge) turn_ = TurnOfLargeImages();
  }

  // Calls f, which may have no objects with destructors.
  template <typename F>
  absl::Status Guarded(F f) {
    const bool returned = setjmp(errors_.jump) == 0;
    if (returned) f();
    if (errors_.ends_early) return absl::DataLossError("a JPEG whose last bytes are missing");
    return returned ? absl::OkStatus()
                    : absl::DataLossError(absl::StrCat("a damaged JPEG: ", errors_.message));
  }

  // Upsampling of chroma reads a column on each side of a pixel, and the columns at the border of
  // what is decoded have none: so two blocks more are decoded there.
  void ChooseColumns(const ImageWindow& window, JDIMENSION* first, JDIMENSION* columns) {
    const int64_t margin = 2 * int64_t{DCTSIZE} * info_.max_h_samp_factor;
    const int64_t begin = std::max<int64_t>(window.x - margin, 0);
    const int64_t end = std::min<int64_t>(window.x + window.width + margin, size_.width);
    *first = begin;
    *columns = end - begin;
    jpeg_crop_scanline(&info_, first, columns);
  }

  std::unique_lock<std::recursive_mutex> turn_;  // ends behind info_, which has the coefficients
  jpeg_decompress_struct info_ = {};
  JpegErrors errors_;
  jpeg_progress_mgr progress_ = {};
  std::vector<uint8_t> row_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EncodedImage>> OpenJpeg(std::string_view bytes,
                                                       const DecodeOptions& options) {
  auto image = std::make_unique<JpegImage>();
  RETURN_IF_ERROR(image->ReadHeader(bytes));
  RETURN_IF_ERROR(image->Open(options));
  return image;
}

absl::StatusOr<std::optional<RgbPixels>> DecodeCmykJpeg(std::string_view bytes) {
  JpegImage image;
  RETURN_IF_ERROR(image.ReadHeader(bytes));
  if (!image.is_cmyk()) return std::nullopt;
  RETURN_IF_ERROR(image.OpenCmyk());
  const ImageSize& size = image.size();
  std::vector<uint8_t> inks(size.elements());
  RETURN_IF_ERROR(image.Decode({0, 0, size.height, size.width}, size.width * 4, inks.data()));
  RgbPixels rgb = {.size = {size.height, size.width, 3}};
  rgb.values.resize(rgb.size.elements());
  const auto light = [&](uint8_t ink) { return image.is_adobes() ? ink : 255 - ink; };
  for (int64_t pixel = 0; pixel < size.pixels(); ++pixel) {
    const uint8_t* const cmyk = &inks[pixel * 4];
    for (int c = 0; c < 3; ++c) {
      rgb.values[pixel * 3 + c] = static_cast<uint8_t>(light(cmyk[c]) * light(cmyk[3]) / 255);
    }
  }
  return rgb;
}

}  // namespace tpurun
