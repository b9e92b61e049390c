// TensorFlow's V2 checkpoint, the tensor bundle:
//   PREFIX.index                a table (table.h): "" -> BundleHeaderProto, then tensor name ->
//                               BundleEntryProto {dtype, shape, shard, offset, size, checksum}
//   PREFIX.data-SSSSS-of-NNNNN  the bytes of the tensors: little-endian, row-major, no padding
// A checkpoint exists once its .index exists. The .index is written last.
// Source: tensorflow/core/util/tensor_bundle/tensor_bundle.h.
#ifndef TPURUN_RUNTIME_IO_TENSOR_BUNDLE_H_
#define TPURUN_RUNTIME_IO_TENSOR_BUNDLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/types.pb.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"
#include "runtime/io/tensor_slice.h"

namespace tpurun {

// "PREFIX.index".
std::string BundleIndexPath(const std::string& prefix);
// "PREFIX.data-00000-of-00001".
std::string BundleDataPath(const std::string& prefix, int shard, int num_shards);
// Bytes of one element in files. 0 for strings and other types without a fixed size.
size_t DataTypeSize(tensorflow::DataType dtype);
// Number of elements. nullopt for a negative dimension or a product above 2^63.
std::optional<int64_t> NumElements(absl::Span<const int64_t> shape);

struct BundleEntry {
  std::string name;
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  std::vector<int64_t> shape;
  // The data file and the range of the tensor's bytes in it. Without meaning if partitioned().
  int shard = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t masked_crc32c = 0;
  // The slices of a partitioned variable. Each slice has an entry of its own with its bytes.
  std::vector<TensorSlice> slices;
  bool partitioned() const { return !slices.empty(); }
};

// Reads any V2 checkpoint: several shards, tensors in any order, snappy blocks. Damage is DataLoss
// with the file and the tensor. Open verifies the whole index, and each tensor is verified by the
// call that reads it. Thread-safe after Open.
class BundleReader {
 public:
  // NotFound if there is no PREFIX.index. FailedPrecondition for V1 checkpoints, other byte orders
  // and other versions. Also checks that the bytes of every tensor are inside its data file.
  static absl::StatusOr<std::unique_ptr<BundleReader>> Open(const std::string& prefix);

  const std::string& prefix() const { return prefix_; }
  int num_shards() const { return static_cast<int>(data_.size()); }
  // Sorted by name (byte order).
  const std::vector<BundleEntry>& entries() const { return entries_; }
  // nullptr if there is no tensor of that name.
  const BundleEntry* Find(std::string_view name) const;

  // The bytes of a tensor of numbers, row-major and little-endian, as many as dtype and shape
  // require. `entry` is one of entries(). InvalidArgument for other types.
  absl::StatusOr<std::string> ReadBytes(const BundleEntry& entry) const;
  // The same into `out`, which has room for entry.size bytes.
  absl::Status ReadInto(const BundleEntry& entry, char* out) const;
  // The elements of a DT_STRING tensor, row-major.
  absl::StatusOr<std::vector<std::string>> ReadStrings(const BundleEntry& entry) const;
  // Reads every tensor of numbers and strings and discards it. DT_RESOURCE and DT_VARIANT have
  // other encodings and are not read.
  absl::Status Verify() const;

 private:
  explicit BundleReader(std::string prefix) : prefix_(std::move(prefix)) {}
  absl::Status ReadIndex();
  absl::Status AddEntry(const std::string& name, const std::string& value);
  absl::Status ReadSlices(const BundleEntry& entry, char* out) const;
  absl::Status Damaged(const BundleEntry& entry, const std::string& what) const;

  const std::string prefix_;
  std::vector<std::unique_ptr<RandomAccessFile>> data_;  // by shard
  std::vector<BundleEntry> entries_;
  // The slices of partitioned variables, by key. Their keys begin with a zero byte.
  std::map<std::string, BundleEntry> slices_;
};

// Writes a checkpoint of one shard, byte for byte as TensorFlow's Saver does. Nothing is visible
// under PREFIX before Finish. A writer that is destroyed before Finish leaves no files.
class BundleWriter {
 public:
  // Makes the directory of `prefix` and opens the data file under a temporary name.
  static absl::StatusOr<std::unique_ptr<BundleWriter>> Create(const FilePath& prefix);
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // Names must be added in ascending byte order. `bytes` is little-endian and row-major, with the
  // size that dtype and shape require.
  absl::Status Add(const std::string& name, tensorflow::DataType dtype,
                   absl::Span<const int64_t> shape, std::string_view bytes);
  // Adds a DT_STRING tensor, row-major.
  absl::Status AddStrings(const std::string& name, absl::Span<const int64_t> shape,
                          absl::Span<const std::string> strings);
  // Publishes the checkpoint: first the data, durably, then the index.
  absl::Status Finish();

 private:
  explicit BundleWriter(const FilePath& prefix);
  absl::Status CheckName(const std::string& name) const;
  // Records that `name` is the last `size` appended bytes.
  void AddEntry(const std::string& name, tensorflow::DataType dtype,
                absl::Span<const int64_t> shape, uint64_t size, uint32_t crc32c);

  const FilePath prefix_;
  const FilePath data_path_;
  std::unique_ptr<OutputFile> data_;  // nullptr after Finish
  uint64_t data_bytes_ = 0;
  std::vector<std::pair<std::string, std::string>> index_;  // key, serialized value
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_TENSOR_BUNDLE_H_
