// The binary versions of CIFAR-10 and CIFAR-100: pictures of 32 x 32 pixels, each colour for
// itself.
//   file   := record*
//   record := label{1: CIFAR-10} red green blue  |  coarse_label fine_label{CIFAR-100} red green
//   blue red, green, blue: 1024 bytes each, row by row; a label is a byte
// Source: https://www.cs.toronto.edu/~kriz/cifar.html. Nothing in a file says which of them it is.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/convert/convert.h"
#include "data/convert/image_example.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr size_t kPixels = 32 * 32;
constexpr size_t kColours = 3;

struct CifarLabel {
  const char* name;
  uint8_t classes;
};

struct CifarVersion {
  const char* name;
  int64_t classes;
  // In the order of their bytes.
  std::vector<CifarLabel> labels;

  size_t record_bytes() const { return labels.size() + kColours * kPixels; }
};

const std::array<CifarVersion, 2>& CifarVersions() {
  static const auto* const kVersions = new std::array<CifarVersion, 2>{{
      {.name = "CIFAR-10", .classes = 10, .labels = {{"label", 10}}},
      {.name = "CIFAR-100", .classes = 100, .labels = {{"coarse_label", 20}, {"label", 100}}},
  }};
  return *kVersions;
}

std::string ShownPath(const std::string& path) { return path == "-" ? "standard input" : path; }

// The bytes of the file when it is decompressed; nullopt where they can be read only once.
absl::StatusOr<std::optional<uint64_t>> DecompressedSize(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
  if (!source->remaining_at_most().has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const uint64_t size, source->Skip(UINT64_MAX));
  return size;
}

std::string SaysWhich(const char* why) {
  return absl::StrCat(why, ": --classes=10 (CIFAR-10) or --classes=100 says which it is");
}

absl::StatusOr<const CifarVersion*> VersionOfSize(const std::string& path) {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> size, DecompressedSize(path));
  if (!size.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ShownPath(path), SaysWhich(" is no file whose size could tell the version")));
  }
  if (size == 0) return absl::DataLossError(absl::StrCat(path, ": it is empty"));
  const auto& [ten, hundred] = CifarVersions();
  const bool may_be_ten = *size % ten.record_bytes() == 0;
  const bool may_be_hundred = *size % hundred.record_bytes() == 0;
  if (may_be_ten && may_be_hundred) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", *size, SaysWhich(" bytes are whole records of both versions")));
  }
  if (may_be_ten || may_be_hundred) return may_be_ten ? &ten : &hundred;
  return absl::DataLossError(absl::StrCat(
      path, ": got ", *size, " bytes, want a multiple of ", ten.record_bytes(), " (CIFAR-10) or ",
      hundred.record_bytes(), " (CIFAR-100): truncated, or not a .bin file of the binary version"));
}

absl::StatusOr<const CifarVersion*> VersionOf(const ConvertArgs& args) {
  for (const CifarVersion& version : CifarVersions()) {
    if (args.classes == version.classes) return &version;
  }
  const CifarVersion* first = nullptr;
  for (const std::string& path : args.inputs) {
    ASSIGN_OR_RETURN(const CifarVersion* const version, VersionOfSize(path));
    if (first == nullptr) first = version;
    if (version == first) continue;
    return absl::DataLossError(absl::StrCat(args.inputs.front(), " is of ", first->name, ", ", path,
                                            " of ", version->name, ", want all of one"));
  }
  return first;
}

// The colours of each pixel beside each other.
void Interleave(const char* planes, std::string* pixels) {
  pixels->resize(kColours * kPixels);
  for (size_t pixel = 0; pixel < kPixels; ++pixel) {
    for (size_t colour = 0; colour < kColours; ++colour) {
      (*pixels)[pixel * kColours + colour] = planes[colour * kPixels + pixel];
    }
  }
}

absl::Status ConvertCifarFile(const std::string& path, const CifarVersion& version,
                              const ExampleSink& write) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
  std::string record(version.record_bytes(), '\0');
  ImageExample picture;
  for (int64_t i = 0;; ++i) {
    const auto wrong = [&](const auto&... what) {
      return absl::DataLossError(absl::StrCat("record ", i, " of ", ShownPath(path), ": ", what...,
                                              " (offset ", i * record.size(), ")"));
    };
    ASSIGN_OR_RETURN(const size_t got, ReadFully(*source, record.data(), record.size()));
    if (got == 0 && i > 0) return absl::OkStatus();
    if (got < record.size()) {
      return wrong("truncated: got ", got, " bytes, want ", record.size(), " of ", version.name);
    }
    for (size_t n = 0; n < version.labels.size(); ++n) {
      const CifarLabel& label = version.labels[n];
      const uint8_t value = static_cast<uint8_t>(record[n]);
      if (value >= label.classes) {
        return wrong(label.name, " ", value, ", want 0 to ", label.classes - 1, " of ",
                     version.name);
      }
      picture.set_label(value, label.name);
    }
    Interleave(record.data() + version.labels.size(), &picture.image());
    RETURN_IF_ERROR(write(picture.example()));
  }
}

}  // namespace

absl::Status CheckCifar(const ConvertArgs& args) {
  RETURN_IF_ERROR(CheckNamedFiles("cifar", args));
  if (!args.classes.has_value() || args.classes == 10 || args.classes == 100) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--classes: got ", *args.classes, ", want 10 or 100"));
}

absl::Status ConvertCifar(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(const CifarVersion* const version, VersionOf(args));
  for (const std::string& path : args.inputs) {
    RETURN_IF_ERROR(ConvertCifarFile(path, *version, write));
  }
  return absl::OkStatus();
}

}  // namespace tpurun
