// Windows of encoded images are those of the whole image, and damaged files are refused without
// reading beyond them.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/images/decode.h"
#include "data/images/exif.h"
#include "gtest/gtest.h"
#include "runtime/io/png.h"
#include "tests/data/encode_jpeg.h"

namespace tpurun {
namespace {

constexpr int64_t kHeight = 61, kWidth = 83;

// Waves with noise: neighbouring pixels and blocks differ.
std::vector<uint8_t> Pixels(int64_t channels) {
  std::mt19937 random(1);
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < kHeight; ++y) {
    for (int64_t x = 0; x < kWidth; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const double wave = std::sin(0.31 * x + c) * std::cos(0.23 * y - c);
        pixels.push_back(static_cast<uint8_t>(128 + 90 * wave + random() % 32));
      }
    }
  }
  return pixels;
}

struct JpegKind {
  const char* name;
  int channels;
  int h, v;  // samples of luma for one of chroma
  bool progressive;
};

std::string Jpeg(const JpegKind& kind) {
  const J_COLOR_SPACE color = kind.channels == 1   ? JCS_GRAYSCALE
                              : kind.channels == 3 ? JCS_RGB
                                                   : JCS_CMYK;
  return EncodeJpegAs(Pixels(kind.channels), {kHeight, kWidth, kind.channels}, color,
                      [&](jpeg_compress_struct& info) {
                        jpeg_set_quality(&info, 80, TRUE);
                        info.comp_info[0].h_samp_factor = kind.h;
                        info.comp_info[0].v_samp_factor = kind.v;
                        if (kind.progressive) jpeg_simple_progression(&info);
                      });
}

struct Encoded {
  std::string name;
  std::string bytes;
  DecodeOptions options;
};

std::vector<Encoded> AllEncoded() {
  constexpr JpegKind kKinds[] = {{"4:2:0", 3, 2, 2, false},
                                 {"4:4:4", 3, 1, 1, false},
                                 {"4:2:2", 3, 2, 1, false},
                                 {"4:4:0", 3, 1, 2, false},
                                 {"4:1:1", 3, 4, 1, false},
                                 {"grey", 1, 1, 1, false},
                                 {"4:2:0 progressive", 3, 2, 2, true},
                                 {"4:2:2 progressive", 3, 2, 1, true}};
  std::vector<Encoded> all;
  for (const JpegKind& kind : kKinds) {
    const std::string bytes = Jpeg(kind);
    for (const int channels : {1, 3}) {
      for (const int ratio : {1, 2, 8}) {
        for (const bool accurate : {false, true}) {
          all.push_back({absl::StrCat(kind.name, " channels ", channels, " ratio ", ratio,
                                      accurate ? " accurate" : ""),
                         bytes,
                         {.channels = channels, .ratio = ratio, .accurate = accurate}});
        }
      }
    }
  }
  for (const int file_channels : {1, 3, 4}) {
    const std::vector<uint8_t> pixels = Pixels(file_channels);
    const std::string bytes = EncodePng(pixels, kHeight, kWidth, file_channels).value();
    for (const int channels : {0, 1, 3, 4}) {
      all.push_back({absl::StrCat("PNG of ", file_channels, " channels as ", channels),
                     bytes,
                     {.channels = channels}});
    }
  }
  return all;
}

std::vector<uint8_t> Decode(const Encoded& encoded, const ImageWindow& window, ImageSize* size) {
  auto image = EncodedImage::Open(encoded.bytes, encoded.options);
  EXPECT_TRUE(image.ok()) << image.status();
  *size = (*image)->size();
  // A row of a window ends where the next one begins, with a gap that must stay.
  const int64_t row = window.width * size->channels, stride = row + 3;
  std::vector<uint8_t> out(window.height * stride, 0xaa);
  const absl::Status decoded = (*image)->Decode(window, stride, out.data());
  EXPECT_TRUE(decoded.ok()) << decoded;
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < window.height; ++y) {
    pixels.insert(pixels.end(), &out[y * stride], &out[y * stride] + row);
    for (int64_t gap = row; gap < stride; ++gap) EXPECT_EQ(out[y * stride + gap], 0xaa);
  }
  return pixels;
}

TEST(EncodedImage, WindowsAreThoseOfTheWholeImage) {
  std::mt19937 random(2);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (const Encoded& encoded : AllEncoded()) {
    SCOPED_TRACE(encoded.name);
    ImageSize size = EncodedImage::Open(encoded.bytes, encoded.options).value()->size();
    const std::vector<uint8_t> whole = Decode(encoded, {0, 0, size.height, size.width}, &size);
    for (int i = 0; i < 40; ++i) {
      ImageWindow window;
      window.y = below(size.height);
      window.x = below(size.width);
      window.height = 1 + below(size.height - window.y);
      window.width = 1 + below(size.width - window.x);
      const std::vector<uint8_t> got = Decode(encoded, window, &size);
      std::vector<uint8_t> want;
      for (int64_t y = window.y; y < window.y + window.height; ++y) {
        const uint8_t* const begin = &whole[(y * size.width + window.x) * size.channels];
        want.insert(want.end(), begin, begin + window.width * size.channels);
      }
      ASSERT_EQ(got, want) << window.y << " " << window.x << " " << window.height << " "
                           << window.width;
    }
  }
}

TEST(EncodedImage, EveryTruncationIsRefused) {
  for (const Encoded& encoded : {AllEncoded().front(), AllEncoded().back()}) {
    for (size_t size = 0; size + 2 < encoded.bytes.size(); size += 1 + size / 50) {
      // Of its own size, so that reading beyond it is seen by the address sanitizer.
      const std::vector<char> bytes(encoded.bytes.begin(), encoded.bytes.begin() + size);
      auto image = EncodedImage::Open({bytes.data(), bytes.size()}, encoded.options);
      absl::Status status = image.status();
      if (image.ok()) {
        const ImageSize& whole = (*image)->size();
        std::vector<uint8_t> out(whole.elements());
        status = (*image)->Decode({0, 0, whole.height, whole.width}, whole.width * whole.channels,
                                  out.data());
      }
      EXPECT_TRUE(absl::IsDataLoss(status)) << encoded.name << " " << size << ": " << status;
    }
  }
}

// A window of the first row is not taken from a file that is damaged behind it.
TEST(EncodedImage, EveryDamageOfAPngIsRefused) {
  const std::string whole = EncodePng(Pixels(3), kHeight, kWidth, 3).value();
  const auto decode = [](const std::string& bytes) {
    auto image = EncodedImage::Open(bytes, {});
    if (!image.ok()) return image.status();
    std::vector<uint8_t> out((*image)->size().width * (*image)->size().channels);
    return (*image)->Decode({0, 0, 1, (*image)->size().width}, std::ssize(out), out.data());
  };
  ASSERT_TRUE(decode(whole).ok());
  for (size_t missing = 1; missing <= 12; ++missing) {
    EXPECT_TRUE(absl::IsDataLoss(decode(whole.substr(0, whole.size() - missing)))) << missing;
  }
  for (size_t at = whole.find("IDAT") + 4; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_TRUE(absl::IsDataLoss(decode(damaged))) << at;
  }
}

TEST(EncodedImage, AFileThatWasCutOffHasNoEnd) {
  for (const Encoded& encoded : AllEncoded()) {
    const auto has_end = [&](size_t size) {
      return EncodedImage::Open(encoded.bytes.substr(0, size), encoded.options).value()->HasEnd();
    };
    EXPECT_TRUE(has_end(encoded.bytes.size())) << encoded.name;
    for (const size_t missing : {12, 100, 1000})
      EXPECT_FALSE(has_end(encoded.bytes.size() - missing)) << encoded.name << " " << missing;
  }
}

TEST(EncodedImage, AJpegOfManyScansIsRefused) {
  const std::string jpeg = Jpeg({"", 1, 1, 1, true});
  const size_t begin = jpeg.rfind("\xff\xda"), end = jpeg.size() - 2;
  const auto decode = [&](int scans) {
    std::string bytes = jpeg.substr(0, begin);
    for (int i = 0; i < scans; ++i) bytes += jpeg.substr(begin, end - begin);
    bytes += jpeg.substr(end);
    auto image = EncodedImage::Open(bytes, {});
    EXPECT_TRUE(image.ok()) << image.status();
    std::vector<uint8_t> out((*image)->size().elements());
    return (*image)->Decode({0, 0, kHeight, kWidth}, kWidth, out.data());
  };
  EXPECT_TRUE(decode(400).ok());
  const absl::Status refused = decode(600);
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_EQ(refused.message(), "a damaged JPEG: it has more than 500 scans");
}

// All coefficients of a progressive JPEG are in memory, 72 MB here.
TEST(EncodedImage, LargeProgressiveJpegsAreDecodedInTurn) {
  constexpr int64_t kSide = 6000, kThreads = 4;
  const std::string jpeg =
      EncodeJpegAs(std::vector<uint8_t>(kSide * kSide, 100), {kSide, kSide, 1}, JCS_GRAYSCALE,
                   [](jpeg_compress_struct& info) { jpeg_simple_progression(&info); });
  const auto peak_bytes = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
  };
  [[maybe_unused]] const int64_t before = peak_bytes();
  std::atomic<int64_t> rows = 0, others = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      const auto image = EncodedImage::Open(jpeg, {}).value();
      const absl::Status status = image->DecodeRows({0, 0, kSide, kSide}, [&](const uint8_t* row) {
        ++rows;
        others += kSide - std::count(row, row + kSide, 100);
      });
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rows, kSide * kThreads);
  EXPECT_EQ(others, 0);
#ifndef TPURUN_SANITIZED
  EXPECT_LT(peak_bytes() - before, 120 << 20);
#endif
}

// The header alone says how large they are: nothing is allocated for them.
TEST(EncodedImage, AHugeImageIsRefused) {
  std::string jpeg = Jpeg({"", 3, 2, 2, false});
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  std::memcpy(&jpeg[frame + 5], "\xfd\xe8\xfd\xe8", 4);  // 65,000 by 65,000
  EXPECT_EQ(EncodedImage::Open(jpeg, {}).status().ToString(),
            "DATA_LOSS: an image of 65000 x 65000 pixels with 3 channels, want 1 to 2^28 values");
  std::string png = EncodePng(Pixels(3), kHeight, kWidth, 3).value();
  std::memcpy(&png[16], "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8);
  EXPECT_TRUE(absl::IsDataLoss(EncodedImage::Open(png, {}).status()));
}

// A JPEG with an EXIF segment of a directory of two entries, the second the orientation.
std::string WithOrientation(int orientation, bool little_endian) {
  std::string tiff = little_endian ? "II*" : "MM";
  const auto add = [&](uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      tiff += static_cast<char>(number >> 8 * (little_endian ? i : bytes - 1 - i));
    }
  };
  if (little_endian) {
    tiff += '\0';
  } else {
    add(42, 2);
  }
  add(8, 4);  // where the directory is
  add(2, 2);  // its entries: tag, type, count and value
  for (const uint32_t number : {256u, 4u}) add(number, 2);
  for (const uint32_t number : {1u, 83u}) add(number, 4);
  for (const uint32_t number : {274u, 3u}) add(number, 2);
  add(1, 4);
  add(static_cast<uint32_t>(orientation), 2);
  add(0, 2);
  add(0, 4);  // no further directory
  const std::string segment = std::string("Exif\0\0", 6) + tiff;
  std::string jpeg = Jpeg({"", 3, 2, 2, false});
  jpeg.insert(2, std::string("\xff\xe1\0", 3) + static_cast<char>(segment.size() + 2) + segment);
  return jpeg;
}

TEST(ExifOrientation, IsRead) {
  for (const bool little_endian : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const std::string jpeg = WithOrientation(orientation, little_endian);
      EXPECT_EQ(ExifOrientation(jpeg), orientation);
      EXPECT_TRUE(EncodedImage::Open(jpeg, {}).ok());
      // libjpeg's own header, JFIF, in front of it.
      std::string behind = Jpeg({"", 3, 2, 2, false});
      const size_t first = 4 + static_cast<uint8_t>(behind[5]);
      behind.insert(first, jpeg.substr(2, 4 + static_cast<uint8_t>(jpeg[5]) - 2));
      EXPECT_EQ(ExifOrientation(behind), orientation);
    }
    for (const int wrong : {0, 9, 65535}) {
      EXPECT_EQ(ExifOrientation(WithOrientation(wrong, little_endian)), 1);
    }
  }
}

TEST(ExifOrientation, OfWhatDoesNotSayIsUpright) {
  for (const Encoded& encoded : AllEncoded()) EXPECT_EQ(ExifOrientation(encoded.bytes), 1);
  EXPECT_EQ(ExifOrientation(""), 1);
  EXPECT_EQ(ExifOrientation("\xff\xd8\xff\xe1"), 1);
}

// Each part of it, and each damage of a byte, is read within its bounds.
TEST(ExifOrientation, OfDamagedBytes) {
  const std::string jpeg = WithOrientation(6, true);
  const size_t end = 4 + static_cast<uint8_t>(jpeg[5]);
  for (size_t size = 0; size < end; ++size) {
    const std::vector<char> part(jpeg.begin(), jpeg.begin() + size);
    const int orientation = ExifOrientation({part.data(), part.size()});
    EXPECT_TRUE(orientation == 1 || orientation == 6) << size;
  }
  for (size_t at = 0; at < end; ++at) {
    for (int value = 0; value < 256; ++value) {
      std::vector<char> damaged(jpeg.begin(), jpeg.begin() + end);
      damaged[at] = static_cast<char>(value);
      const int orientation = ExifOrientation({damaged.data(), damaged.size()});
      EXPECT_TRUE(orientation >= 1 && orientation <= 8);
    }
  }
}

TEST(EncodedImage, CmykIsRefused) {
  EXPECT_EQ(EncodedImage::Open(Jpeg({"CMYK", 4, 1, 1, false}), {}).status().ToString(),
            "DATA_LOSS: a JPEG in CMYK, want grey or RGB; convert it first");
}

}  // namespace
}  // namespace tpurun
