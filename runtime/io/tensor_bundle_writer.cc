#include <utility>

#include "absl/strings/str_format.h"
#include "proto/tensor_bundle.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/table.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/io/varint.h"

namespace tpurun {

BundleWriter::BundleWriter(const FilePath& prefix)
    : prefix_(prefix), data_path_(prefix.WithName(BundleDataPath(prefix.name(), 0, 1))) {
  tensorflow::BundleHeaderProto header;
  header.set_num_shards(1);
  header.mutable_version()->set_producer(1);
  index_.emplace_back("", header.SerializeAsString());
}

absl::StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(const FilePath& prefix) {
  RETURN_IF_ERROR(MakeDirectories(DirName(prefix.name())));
  std::unique_ptr<BundleWriter> writer(new BundleWriter(prefix));
  ASSIGN_OR_RETURN(writer->data_, OutputFile::Create(writer->data_path_));
  return writer;
}

absl::Status BundleWriter::CheckName(const std::string& name) const {
  const std::string& last = index_.back().first;
  if (name <= last || name.front() == '\0') {
    return absl::InternalError(absl::StrFormat(
        "checkpoint %s: tensor \"%s\" does not come after \"%s\"", prefix_.text(), name, last));
  }
  return absl::OkStatus();
}

void BundleWriter::AddEntry(const std::string& name, tensorflow::DataType dtype,
                            absl::Span<const int64_t> shape, uint64_t size, uint32_t crc32c) {
  tensorflow::BundleEntryProto entry;
  entry.set_dtype(dtype);
  // A scalar's shape is written too, as an empty message.
  entry.mutable_shape();
  for (const int64_t dim : shape) entry.mutable_shape()->add_dim()->set_size(dim);
  entry.set_offset(data_bytes_);
  entry.set_size(size);
  entry.set_crc32c(crc32c::Mask(crc32c));
  index_.emplace_back(name, entry.SerializeAsString());
  data_bytes_ += size;
}

absl::Status BundleWriter::Add(const std::string& name, tensorflow::DataType dtype,
                               absl::Span<const int64_t> shape, std::string_view bytes) {
  RETURN_IF_ERROR(CheckName(name));
  const std::optional<int64_t> elements = NumElements(shape);
  const size_t element_bytes = DataTypeSize(dtype);
  if (element_bytes == 0 || !elements.has_value() || bytes.size() % element_bytes != 0 ||
      bytes.size() / element_bytes != static_cast<uint64_t>(*elements)) {
    return absl::InternalError(absl::StrFormat(
        "checkpoint %s: tensor \"%s\": got %d bytes, want %d elements of %d bytes (%s)",
        prefix_.text(), name, bytes.size(), elements.value_or(-1), element_bytes,
        tensorflow::DataType_Name(dtype)));
  }
  RETURN_IF_ERROR(data_->Append(bytes));
  AddEntry(name, dtype, shape, bytes.size(), crc32c::Value(bytes));
  return absl::OkStatus();
}

// Bytes := varint length of each element, masked checksum of the lengths as fixed-width words
// (u32, or u64 beyond 2^32-1), then the elements. The entry's checksum goes on from the one of the
// lengths, over the four checksum bytes and the elements.
absl::Status BundleWriter::AddStrings(const std::string& name, absl::Span<const int64_t> shape,
                                      absl::Span<const std::string> strings) {
  RETURN_IF_ERROR(CheckName(name));
  const std::optional<int64_t> elements = NumElements(shape);
  if (elements != static_cast<int64_t>(strings.size())) {
    return absl::InternalError(
        absl::StrFormat("checkpoint %s: tensor \"%s\": got %d strings, "
                        "want %d",
                        prefix_.text(), name, strings.size(), elements.value_or(-1)));
  }
  std::string head, words;
  uint64_t size = 0;
  for (const std::string& text : strings) {
    AppendVarint(text.size(), &head);
    AppendLittleEndian(text.size(), text.size() > UINT32_MAX ? 8 : 4, &words);
    size += text.size();
  }
  std::string checksum;
  AppendU32(crc32c::MaskedValue(words), &checksum);
  uint32_t crc = crc32c::Value(words + checksum);
  head += checksum;
  RETURN_IF_ERROR(data_->Append(head));
  for (const std::string& text : strings) {
    RETURN_IF_ERROR(data_->Append(text));
    crc = crc32c::Extend(crc, text.data(), text.size());
  }
  AddEntry(name, tensorflow::DT_STRING, shape, head.size() + size, crc);
  return absl::OkStatus();
}

absl::Status BundleWriter::Finish() {
  if (data_ == nullptr)
    return absl::InternalError(absl::StrCat(prefix_.text(), ": finished already"));
  ASSIGN_OR_RETURN(const std::string index, BuildTable(index_));
  RETURN_IF_ERROR(data_->Commit());
  data_.reset();
  const FilePath index_path = prefix_.WithName(BundleIndexPath(prefix_.name()));
  const absl::Status status = WriteFileAtomically(index_path, index);
  // A full disk shall not be fuller for a checkpoint that is none.
  if (!status.ok() && !FileExists(index_path)) RemoveFile(data_path_).IgnoreError();
  return status;
}

}  // namespace tpurun
