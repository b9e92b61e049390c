// Writes records to a file (record_format.h). Not thread-safe.
#ifndef TPURUN_RUNTIME_IO_RECORD_WRITER_H_
#define TPURUN_RUNTIME_IO_RECORD_WRITER_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/file.h"
#include "runtime/io/record_format.h"

namespace tpurun {

class RecordWriter {
 public:
  // Creates or truncates the file.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> Create(
      const FilePath& path, Compression compression = Compression::kNone);
  // Compresses into `sink`. `name` names the file in messages.
  RecordWriter(std::unique_ptr<ByteSink> sink, Compression compression, const std::string& name);
  explicit RecordWriter(std::unique_ptr<ByteSink> sink);

  absl::Status Write(std::string_view record);
  absl::Status Flush() { return sink_->Flush(); }
  absl::Status Sync() { return sink_->Sync(); }
  absl::Status Close() { return sink_->Close(); }

 private:
  const std::unique_ptr<ByteSink> sink_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_RECORD_WRITER_H_
