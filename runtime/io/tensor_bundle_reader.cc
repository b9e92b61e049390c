#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/tensor_bundle.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/keras_file.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/table.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/io/varint.h"

namespace tpurun {
namespace {

// The version of the format that this reader knows; min_consumer is compared with it.
constexpr int kBundleVersion = 1;
// The file names have five digits.
constexpr int kMaxShards = 99999;
// Some 3 million tensors.
constexpr uint64_t kMaxIndexBytes = 256 << 20;

// Slices are keyed by names that begin with a zero byte.
bool IsSliceKey(const std::string& key) { return key.front() == '\0'; }

absl::Status CheckHeader(const tensorflow::BundleHeaderProto& header, const std::string& index) {
  if (header.num_shards() < 1 || header.num_shards() > kMaxShards) {
    return absl::DataLossError(absl::StrFormat("%s: got %d data files, want 1 to %d", index,
                                               header.num_shards(), kMaxShards));
  }
  if (header.endianness() != tensorflow::BundleHeaderProto::LITTLE) {
    return absl::FailedPreconditionError(absl::StrCat(
        index,
        ": written on a big-endian machine, want a little-endian one: restore it in TensorFlow on "
        "one of those and save it again"));
  }
  const tensorflow::VersionDef& version = header.version();
  const bool bad = std::count(version.bad_consumers().begin(), version.bad_consumers().end(),
                              kBundleVersion) > 0;
  if (bad || version.min_consumer() > kBundleVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: its checkpoint format %d can only be read by format %d or later, this is %d: save it "
        "again with an earlier TensorFlow",
        index, version.producer(), std::max(version.min_consumer(), kBundleVersion + bad),
        kBundleVersion));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BundleReader>> BundleReader::Open(const std::string& prefix) {
  std::unique_ptr<BundleReader> reader(new BundleReader(prefix));
  RETURN_IF_ERROR(reader->ReadIndex());
  return reader;
}

absl::Status BundleReader::ReadIndex() {
  const std::string path = BundleIndexPath(prefix_);
  const absl::StatusOr<std::string> bytes = ReadFile(path, kMaxIndexBytes);
  if (!bytes.ok() && IsAbsent(path) && FileExists(prefix_) && !IsDirectory(prefix_)) {
    RETURN_IF_ERROR(RefuseKerasFile(prefix_));
    return absl::FailedPreconditionError(absl::StrCat(
        prefix_, ": no ", path,
        " beside it; a V1 checkpoint (TensorFlow before 1.0) cannot be "
        "read: restore it in TensorFlow 1.x and save it with tf.train.Saver's default V2 format"));
  }
  RETURN_IF_ERROR(bytes.status());
  ASSIGN_OR_RETURN(const TableEntries rows, ReadTable(*bytes, path));
  tensorflow::BundleHeaderProto header;
  if (rows.empty() || !rows.front().first.empty() || !header.ParseFromString(rows.front().second)) {
    return absl::DataLossError(absl::StrCat(path, ": not a checkpoint index: it has no header"));
  }
  RETURN_IF_ERROR(CheckHeader(header, path));
  for (int shard = 0; shard < header.num_shards(); ++shard) {
    const std::string data_path = BundleDataPath(prefix_, shard, header.num_shards());
    absl::StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(data_path);
    if (!file.ok() && IsAbsent(data_path)) {
      return absl::DataLossError(
          absl::StrCat("checkpoint ", prefix_, " is incomplete: ", file.status().message()));
    }
    RETURN_IF_ERROR(file.status());
    data_.push_back(*std::move(file));
  }
  for (size_t row = 1; row < rows.size(); ++row) {
    RETURN_IF_ERROR(AddEntry(rows[row].first, rows[row].second));
  }
  return absl::OkStatus();
}

absl::Status BundleReader::Damaged(const BundleEntry& entry, const std::string& what) const {
  const size_t shard = entry.shard;
  const std::string file = entry.partitioned() || shard >= data_.size() ? BundleIndexPath(prefix_)
                                                                        : data_[shard]->path();
  return absl::DataLossError(absl::StrFormat("tensor %s of %s: %s", Quote(entry.name), file, what));
}

absl::Status BundleReader::AddEntry(const std::string& name, const std::string& value) {
  BundleEntry entry = {.name = name, .shard = -1};
  tensorflow::BundleEntryProto proto;
  if (!proto.ParseFromString(value)) return Damaged(entry, "its index entry does not parse");
  entry.dtype = proto.dtype();
  if (!tensorflow::DataType_IsValid(entry.dtype) || entry.dtype == tensorflow::DT_INVALID) {
    return Damaged(entry, absl::StrFormat("unknown dtype %d, want %d to %d", entry.dtype,
                                          tensorflow::DT_FLOAT, tensorflow::DataType_MAX));
  }
  for (const auto& dim : proto.shape().dim()) entry.shape.push_back(dim.size());
  const std::optional<int64_t> elements = NumElements(entry.shape);
  const uint64_t element_bytes = DataTypeSize(entry.dtype);
  uint64_t want_bytes = 0;
  if (!elements.has_value() || proto.shape().unknown_rank() ||
      __builtin_mul_overflow(static_cast<uint64_t>(*elements), element_bytes, &want_bytes)) {
    return Damaged(entry, absl::StrCat("bad shape [", absl::StrJoin(entry.shape, ","), "]"));
  }
  entry.shard = proto.shard_id();
  entry.offset = proto.offset();
  entry.size = proto.size();
  entry.masked_crc32c = proto.crc32c();
  for (const tensorflow::TensorSliceProto& slice : proto.slices()) {
    TensorSlice extents;
    for (const auto& extent : slice.extent()) {
      const bool whole =
          extent.has_length_case() == tensorflow::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET;
      extents.push_back({extent.start(), whole ? -1 : extent.length()});
    }
    entry.slices.push_back(std::move(extents));
  }
  if (entry.partitioned()) {
    entry.size = want_bytes;
    entries_.push_back(std::move(entry));
    return absl::OkStatus();
  }
  if (entry.shard < 0 || entry.shard >= num_shards()) {
    return Damaged(entry,
                   absl::StrFormat("in data file %d, want 0 to %d", entry.shard, num_shards() - 1));
  }
  const uint64_t file_bytes = data_[entry.shard]->size();
  if (proto.offset() < 0 || proto.size() < 0 || entry.offset > file_bytes ||
      entry.size > file_bytes - entry.offset) {
    return Damaged(entry, absl::StrFormat("data file is truncated: got %d bytes, want %d bytes "
                                          "from offset %d",
                                          file_bytes, proto.size(), proto.offset()));
  }
  if (element_bytes > 0 && entry.size != want_bytes) {
    return Damaged(entry, absl::StrFormat("got %d bytes, want %d elements of %d bytes", entry.size,
                                          *elements, element_bytes));
  }
  if (IsSliceKey(name)) {
    slices_.emplace(name, std::move(entry));
  } else {
    entries_.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

const BundleEntry* BundleReader::Find(std::string_view name) const {
  const auto found = std::lower_bound(
      entries_.begin(), entries_.end(), name,
      [](const BundleEntry& entry, std::string_view want) { return entry.name < want; });
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

absl::Status BundleReader::ReadInto(const BundleEntry& entry, char* out) const {
  if (DataTypeSize(entry.dtype) == 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("tensor \"%s\" of checkpoint %s: got type %s, want numbers", entry.name,
                        prefix_, tensorflow::DataType_Name(entry.dtype)));
  }
  if (entry.partitioned()) return ReadSlices(entry, out);
  RETURN_IF_ERROR(data_[entry.shard]->ReadAt(entry.offset, out, entry.size));
  const uint32_t computed = crc32c::MaskedValue({out, entry.size});
  if (computed != entry.masked_crc32c) {
    return Damaged(entry, absl::StrFormat("checksum 0x%08x, want 0x%08x (offset %d, %d bytes)",
                                          computed, entry.masked_crc32c, entry.offset, entry.size));
  }
  return absl::OkStatus();
}

absl::Status BundleReader::ReadSlices(const BundleEntry& entry, char* out) const {
  const size_t element_bytes = DataTypeSize(entry.dtype);
  std::vector<TensorSlice> read;
  uint64_t read_bytes = 0;
  for (const TensorSlice& slice : entry.slices) {
    const auto found = slices_.find(SliceKey(entry.name, slice));
    if (found == slices_.end()) return Damaged(entry, "an entry of one of its slices is missing");
    const BundleEntry& part = found->second;
    TensorSlice resolved;
    bool good = part.dtype == entry.dtype && ResolveSlice(slice, entry.shape, &resolved) &&
                part.shape.size() == resolved.size();
    for (size_t dim = 0; good && dim < resolved.size(); ++dim) {
      good = part.shape[dim] == resolved[dim].length;
    }
    for (const TensorSlice& other : read) good = good && !SlicesOverlap(resolved, other);
    if (!good) return Damaged(entry, "its slices do not fit together");
    ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(part));
    CopySlice(resolved, entry.shape, element_bytes, bytes.data(), out);
    read_bytes += bytes.size();
    read.push_back(std::move(resolved));
  }
  if (read_bytes != entry.size) return Damaged(entry, "its slices do not cover it");
  return absl::OkStatus();
}

absl::StatusOr<std::string> BundleReader::ReadBytes(const BundleEntry& entry) const {
  // A partitioned tensor's size is a claim of the index alone until its slices are read.
  uint64_t slice_bytes = 0;
  for (const TensorSlice& slice : entry.slices) {
    const auto found = slices_.find(SliceKey(entry.name, slice));
    if (found != slices_.end()) slice_bytes += found->second.size;
  }
  if (entry.partitioned() && slice_bytes != entry.size) {
    return Damaged(entry, "its slices do not cover it");
  }
  std::string bytes(entry.size, '\0');
  RETURN_IF_ERROR(ReadInto(entry, bytes.data()));
  return bytes;
}

absl::StatusOr<std::vector<std::string>> BundleReader::ReadStrings(const BundleEntry& entry) const {
  if (entry.dtype != tensorflow::DT_STRING || entry.partitioned()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("tensor \"%s\" of checkpoint %s: got type %s, want strings in one piece",
                        entry.name, prefix_, tensorflow::DataType_Name(entry.dtype)));
  }
  std::string bytes(entry.size, '\0');
  RETURN_IF_ERROR(data_[entry.shard]->ReadAt(entry.offset, bytes.data(), bytes.size()));
  const uint64_t elements = *NumElements(entry.shape);
  std::string_view rest = bytes;
  std::string words, head;
  std::vector<uint64_t> lengths;
  uint64_t total = 0;
  for (uint64_t element = 0; element < elements; ++element) {
    uint64_t length;
    if (!ConsumeVarint(&rest, &length) || length > bytes.size()) {
      return Damaged(entry, absl::StrFormat("bad length of string %d", element));
    }
    AppendVarint(length, &head);
    AppendLittleEndian(length, length > UINT32_MAX ? 8 : 4, &words);
    lengths.push_back(length);
    total += length;
  }
  constexpr size_t kChecksumBytes = 4;
  // The lengths must be written in the one shortest way: their checksum is over their values.
  if (bytes.compare(0, head.size(), head) != 0 || rest.size() != kChecksumBytes + total) {
    return Damaged(
        entry, absl::StrFormat("got %d bytes for strings of %d bytes in all", bytes.size(), total));
  }
  const uint32_t lengths_computed = crc32c::MaskedValue(words);
  const uint32_t lengths_stored = LoadU32(rest.data());
  if (lengths_computed != lengths_stored) {
    return Damaged(entry, absl::StrFormat("checksum of lengths 0x%08x, want 0x%08x (offset %d)",
                                          lengths_computed, lengths_stored, entry.offset));
  }
  const uint32_t computed =
      crc32c::Mask(crc32c::Extend(crc32c::Value(words), rest.data(), rest.size()));
  if (computed != entry.masked_crc32c) {
    return Damaged(entry, absl::StrFormat("checksum 0x%08x, want 0x%08x (offset %d, %d bytes)",
                                          computed, entry.masked_crc32c, entry.offset, entry.size));
  }
  rest.remove_prefix(kChecksumBytes);
  std::vector<std::string> strings;
  for (const uint64_t length : lengths) {
    strings.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return strings;
}

absl::Status BundleReader::Verify() const {
  for (const BundleEntry& entry : entries_) {
    if (DataTypeSize(entry.dtype) > 0) {
      RETURN_IF_ERROR(ReadBytes(entry).status());
    } else if (entry.dtype == tensorflow::DT_STRING && !entry.partitioned()) {
      RETURN_IF_ERROR(ReadStrings(entry).status());
    }
  }
  return absl::OkStatus();
}

}  // namespace tpurun
