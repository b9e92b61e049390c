// Images and their labels from a pair of idx files, as MNIST has them, the bytes as they lie in the
// file:
//   file := 0 0 type rank  dim{rank}  element*      dim u32 big-endian; row-major
// Source: yann.lecun.com/exdb/mnist, "the IDX file format".
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/convert/convert.h"
#include "data/convert/image_example.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
// A guard against headers that lie: larger than any image such files hold.
constexpr uint64_t kMaxElementBytes = 16 << 20;

class IdxFile {
 public:
  static absl::StatusOr<IdxFile> Open(const std::string& path) {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenMaybeGzip(path));
    IdxFile file(path, std::move(source));
    RETURN_IF_ERROR(file.ReadHeader());
    RETURN_IF_ERROR(file.CheckClaim());
    return file;
  }

  const std::string& path() const { return path_; }
  int64_t count() const { return dims_[0]; }
  std::vector<int64_t> element_shape() const { return {dims_.begin() + 1, dims_.end()}; }
  bool is_labels() const { return dims_.size() == 1; }

  absl::Status ReadElement(std::string* element) {
    ASSIGN_OR_RETURN(const size_t got, Read(element_bytes_, element));
    if (got < element_bytes_) {
      return absl::DataLossError(absl::StrCat("record ", read_, " of ", path_, ": truncated: got ",
                                              got, " bytes, want ", element_bytes_, " (offset ",
                                              offset_ - got, "); its header says ",
                                              absl::StrJoin(dims_, " x "), " bytes"));
    }
    ++read_;
    return absl::OkStatus();
  }

  absl::Status CheckEnd() {
    std::string rest;
    ASSIGN_OR_RETURN(const size_t got, Read(1, &rest));
    if (got == 0) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(path_, ": has more bytes than its header says: want an end after ",
                     absl::StrJoin(dims_, " x "), " bytes (offset ", offset_ - got, ")"));
  }

 private:
  IdxFile(std::string path, std::unique_ptr<ByteSource> source)
      : path_(std::move(path)), source_(std::move(source)) {}

  absl::StatusOr<size_t> Read(size_t size, std::string* bytes) {
    bytes->resize(size);
    ASSIGN_OR_RETURN(const size_t got, ReadFully(*source_, bytes->data(), size));
    offset_ += got;
    return got;
  }

  absl::Status ReadHeader() {
    std::string magic;
    ASSIGN_OR_RETURN(size_t got, Read(4, &magic));
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": not an idx file: it is empty"));
    }
    const auto byte = [&](int i) { return static_cast<uint8_t>(magic[i]); };
    if (got < magic.size() || byte(0) != 0 || byte(1) != 0 || byte(3) == 0) {
      magic.resize(got);
      return absl::DataLossError(absl::StrFormat(
          "%s: not an idx file: begins with 0x%s, want 0x000008 and the number of dimensions",
          path_, absl::BytesToHexString(magic)));
    }
    if (byte(2) != kUnsignedByte) {
      return absl::DataLossError(absl::StrFormat(
          "%s: elements of type 0x%02x, want 0x08 (unsigned bytes) (offset 2)", path_, byte(2)));
    }
    std::string sizes;
    const size_t rank = byte(3);
    ASSIGN_OR_RETURN(got, Read(4 * rank, &sizes));
    if (got < sizes.size()) {
      return absl::DataLossError(absl::StrCat(path_, ": truncated: got ", 4 + got,
                                              " bytes of its header, want ", 4 + sizes.size()));
    }
    for (size_t i = 0; i < rank; ++i) {
      uint32_t dim = 0;
      for (size_t j = 0; j < 4; ++j) dim = dim << 8 | static_cast<uint8_t>(sizes[4 * i + j]);
      dims_.push_back(dim);
      if (i == 0) continue;
      element_bytes_ *= dim;
      if (element_bytes_ == 0 || element_bytes_ > kMaxElementBytes) {
        return absl::DataLossError(absl::StrCat(
            path_, ": elements of ", absl::StrJoin(dims_.begin() + 1, dims_.end(), " x "),
            " bytes, want 1 to ", kMaxElementBytes, " (offset ", 4 + 4 * i, ")"));
      }
    }
    return absl::OkStatus();
  }

  // Before anything is written: reading to the end of what is there may take long.
  absl::Status CheckClaim() const {
    const std::optional<uint64_t> most = source_->remaining_at_most();
    const double claimed = static_cast<double>(dims_[0]) * static_cast<double>(element_bytes_);
    if (!most.has_value() || claimed <= static_cast<double>(*most)) return absl::OkStatus();
    return absl::DataLossError(absl::StrFormat(
        "%s: truncated, or its header is wrong: got %s%d bytes after it (offset %d), want the %.0f "
        "of %s",
        path_, source_->remaining().has_value() ? "" : "at most ", *most, offset_, claimed,
        absl::StrJoin(dims_, " x ")));
  }

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  std::vector<int64_t> dims_;
  uint64_t element_bytes_ = 1;
  uint64_t offset_ = 0;  // in the decompressed file
  int64_t read_ = 0;     // elements
};

struct IdxPair {
  IdxFile images;
  IdxFile labels;
};

absl::StatusOr<IdxPair> OpenPair(const ConvertArgs& args) {
  ASSIGN_OR_RETURN(IdxFile images, IdxFile::Open(args.inputs[0]));
  ASSIGN_OR_RETURN(IdxFile labels, IdxFile::Open(args.inputs[1]));
  if (images.is_labels() == labels.is_labels()) {
    return absl::DataLossError(
        absl::StrCat(images.path(), " and ", labels.path(), " are both of ",
                     images.is_labels() ? "labels (one dimension)" : "images (several dimensions)",
                     ", want one of each"));
  }
  if (images.is_labels()) std::swap(images, labels);
  if (images.count() != labels.count()) {
    return absl::DataLossError(absl::StrCat(images.path(), " has ", images.count(), " images, ",
                                            labels.path(), " has ", labels.count(),
                                            " labels, want as many"));
  }
  return IdxPair{std::move(images), std::move(labels)};
}

}  // namespace

absl::Status CheckIdx(const ConvertArgs& args) {
  if (args.inputs.size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("idx: got ", args.inputs.size(),
                                                 args.inputs.size() == 1 ? " file" : " files",
                                                 ", want two: images and labels"));
}

absl::StatusOr<std::vector<int64_t>> IdxImageShape(const ConvertArgs& args) {
  ASSIGN_OR_RETURN(const IdxPair pair, OpenPair(args));
  return pair.images.element_shape();
}

absl::Status ConvertIdx(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(IdxPair pair, OpenPair(args));
  ImageExample picture;
  std::string label;
  for (int64_t i = 0; i < pair.images.count(); ++i) {
    RETURN_IF_ERROR(pair.images.ReadElement(&picture.image()));
    RETURN_IF_ERROR(pair.labels.ReadElement(&label));
    picture.set_label(static_cast<uint8_t>(label[0]));
    RETURN_IF_ERROR(write(picture.example()));
  }
  RETURN_IF_ERROR(pair.images.CheckEnd());
  return pair.labels.CheckEnd();
}

}  // namespace tpurun
