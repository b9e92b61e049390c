#include "data/images/decode.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/table.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using std::string_view_literals::operator""sv;

struct Format {
  std::string_view begin;  // of its files
  const char* name;
};

constexpr std::string_view kJpeg = "\xff\xd8\xff"sv;
constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n"sv;

// Formats that are told apart, but not decoded.
constexpr Format kOthers[] = {
    {"GIF8"sv, "a GIF"},
    {"BM"sv, "a BMP"},
    {"II*\0"sv, "a TIFF"},
    {"MM\0*"sv, "a TIFF"},
    {"RIFF"sv, "a WebP or another RIFF file"},
    {"\0\0\0\x0cjP"sv, "a JPEG 2000"},
    {"<"sv, "text: HTML, XML or SVG"},
};

std::string DescribeBytes(std::string_view bytes) {
  if (bytes.empty()) return "no bytes";
  for (const Format& format : kOthers) {
    if (bytes.starts_with(format.begin)) return format.name;
  }
  return absl::StrCat(bytes.size(), " bytes that begin with ",
                      Quote(std::string(bytes.substr(0, 8))));
}

}  // namespace

absl::Status EncodedImage::Decode(const ImageWindow& window, int64_t stride, uint8_t* out) {
  return DecodeRows(window, [&](const uint8_t* row) {
    std::copy_n(row, window.width * size_.channels, out);
    out += stride;
  });
}

bool IsJpeg(std::string_view bytes) { return bytes.starts_with(kJpeg); }

const char* ImageFormatOf(std::string_view bytes) {
  return IsJpeg(bytes) ? "JPEG" : bytes.starts_with(kPng) ? "PNG" : nullptr;
}

absl::Status CheckImageSize(const ImageSize& size) {
  if (size.height > 0 && size.width > 0 && size.channels > 0 &&
      size.height <= kMaxRowElements / size.width / size.channels) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("an image of ", size.height, " x ", size.width,
                                          " pixels with ", size.channels,
                                          " channels, want 1 to 2^28 values"));
}

absl::StatusOr<std::unique_ptr<EncodedImage>> EncodedImage::Open(std::string_view bytes,
                                                                 const DecodeOptions& options) {
  if (IsJpeg(bytes)) return OpenJpeg(bytes, options);
  if (bytes.starts_with(kPng)) return OpenPng(bytes, options);
  return absl::DataLossError(absl::StrCat("got ", DescribeBytes(bytes), ", want a JPEG or a PNG"));
}

}  // namespace tpurun
