#include "png.h"

#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// libpng reports an error by a function that must not return.
struct PngErrors {
  std::jmp_buf jump;
  char message[256] = {};
};

[[noreturn]] void OnPngError(png_structp png, png_const_charp message) {
  auto& errors = *static_cast<PngErrors*>(png_get_error_ptr(png));
  std::strncpy(errors.message, message, sizeof errors.message - 1);
  std::longjmp(errors.jump, 1);
}

void OnPngWarning(png_structp, png_const_charp) {}

class PngImage : public EncodedImage {
 public:
  explicit PngImage(std::string_view bytes) : rest_(bytes) {}
  ~PngImage() override { png_destroy_read_struct(&png_, &info_, nullptr); }

  absl::Status Open(const DecodeOptions& options) {
    RETURN_IF_ERROR(Guarded([&] {
      png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, OnPngError, OnPngWarning);
      info_ = png_create_info_struct(png_);
      png_set_read_fn(png_, this, ReadBytes);
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      png_read_info(png_, info_);
    }));
    const int file_channels = ChannelsOfFile();
    const int channels = options.channels == 0 ? file_channels : options.channels;
    size_ = {png_get_image_height(png_, info_), png_get_image_width(png_, info_), channels};
    RETURN_IF_ERROR(CheckImageSize(size_));
    if (options.ratio != 1) {
      return absl::DataLossError(absl::StrCat("a PNG, which cannot be decoded at 1 / ",
                                              options.ratio,
                                              " of its size; want a JPEG for ratio"));
    }
    return Guarded([&] { ConvertTo(channels); });
  }

  const char* format() const override { return "PNG"; }

  bool HasEnd() const override { return rest_.find("IEND") != std::string_view::npos; }

  absl::Status DecodeRows(const ImageWindow& window, const TakeRow& take) override {
    const bool interlaced = passes_ > 1;
    const size_t row_bytes = size_.width * size_.channels;
    row_.resize(interlaced ? row_bytes * size_.height : row_bytes);
    const size_t begin = window.x * size_.channels;
    return Guarded([&] {
      // Passes of an interlaced image complete all of its rows.
      for (int pass = 0; pass < passes_; ++pass) {
        for (int64_t y = 0; y < size_.height; ++y) {
          uint8_t* const row = row_.data() + (interlaced ? y * row_bytes : 0);
          png_read_row(png_, row, nullptr);
          if (pass + 1 < passes_ || y < window.y || y >= window.y + window.height) continue;
          take(row + begin);
        }
      }
      // The checksums are behind the last row.
      png_read_end(png_, nullptr);
    });
  }

 private:
  template <typename F>
  absl::Status Guarded(F f) {
    if (setjmp(errors_.jump) == 0) {
      f();
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat("a damaged PNG: ", errors_.message));
  }

  static void ReadBytes(png_structp png, png_bytep to, size_t count) {
    auto& image = *static_cast<PngImage*>(png_get_io_ptr(png));
    if (count > image.rest_.size()) png_error(png, "its last bytes are missing");
    std::memcpy(to, image.rest_.data(), count);
    image.rest_.remove_prefix(count);
  }

  bool HasTransparency() { return png_get_valid(png_, info_, PNG_INFO_tRNS) != 0; }

  int ChannelsOfFile() {
    const int type = png_get_color_type(png_, info_);
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || HasTransparency();
    return ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + (alpha ? 1 : 0);
  }

  // Asks for 8 bits of so many channels.
  void ConvertTo(int channels) {
    const int type = png_get_color_type(png_, info_);
    const bool color = (type & PNG_COLOR_MASK_COLOR) != 0;
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || HasTransparency();
    png_set_strip_16(png_);
    png_set_packing(png_);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (!color) png_set_expand_gray_1_2_4_to_8(png_);
    const bool wants_alpha = channels == 2 || channels == 4;
    if (wants_alpha && HasTransparency()) png_set_tRNS_to_alpha(png_);
    if (wants_alpha && !alpha) png_set_add_alpha(png_, 0xff, PNG_FILLER_AFTER);
    if (!wants_alpha) png_set_strip_alpha(png_);
    if (channels < 3 && color) {
      png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    }
    if (channels >= 3 && !color) png_set_gray_to_rgb(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != static_cast<size_t>(size_.width * channels)) {
      png_error(png_, "its pixels have another size than its header says");
    }
  }

  std::string_view rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PngErrors errors_;
  int passes_ = 1;
  std::vector<uint8_t> row_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EncodedImage>> OpenPng(std::string_view bytes,
                                                      const DecodeOptions& options) {
  auto image = std::make_unique<PngImage>(bytes);
  RETURN_IF_ERROR(image->Open(options));
  return image;
}

}  // namespace tpurun
