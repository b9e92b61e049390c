#include "runtime/io/record_writer.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/little_endian.h"
#include "runtime/io/zlib_stream.h"

namespace tpurun {

namespace {

std::unique_ptr<ByteSink> Compressed(std::unique_ptr<ByteSink> sink, Compression compression,
                                     const std::string& name) {
  if (compression == Compression::kNone) return sink;
  return std::make_unique<ZlibSink>(std::move(sink), compression, name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Create(const FilePath& path,
                                                                   Compression compression) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteSink> sink, FileSink::Create(path));
  return std::make_unique<RecordWriter>(std::move(sink), compression, path.text());
}

RecordWriter::RecordWriter(std::unique_ptr<ByteSink> sink, Compression compression,
                           const std::string& name)
    : RecordWriter(Compressed(std::move(sink), compression, name)) {}

RecordWriter::RecordWriter(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {}

absl::Status RecordWriter::Write(std::string_view record) {
  std::string header, footer;
  AppendU64(record.size(), &header);
  AppendU32(crc32c::MaskedValue(header), &header);
  AppendU32(crc32c::MaskedValue(record), &footer);
  RETURN_IF_ERROR(sink_->Append(header));
  RETURN_IF_ERROR(sink_->Append(record));
  return sink_->Append(footer);
}

}  // namespace tpurun
