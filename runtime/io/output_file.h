// OutputFile: a file that has its name only once it is complete.
#ifndef TPURUN_RUNTIME_IO_OUTPUT_FILE_H_
#define TPURUN_RUNTIME_IO_OUTPUT_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/file.h"

namespace tpurun {

// Written under its TemporaryName in the same directory, locked (flock) for as long as the object
// lives. The lock tells it from what a killed process left: the system gives a lock back when its
// process ends, however that ends, and RemoveTemporaryFiles removes what it can lock itself. A
// process number would not do: it may be another process' by then, or one of another container.
// Where the file system has no locks, nothing is removed.
class OutputFile : public ByteSink {
 public:
  // `path` as ReplaceableFile gives it. What is there stays until Rename.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const FilePath& path);
  // Removes the temporary file, if Rename has not made it the file.
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  absl::Status Append(std::string_view bytes) override;
  absl::Status Flush() override { return sink_->Flush(); }
  absl::Status Sync() override { return sink_->Sync(); }
  // Makes the bytes durable, under the temporary name still; nothing may be appended after it.
  absl::Status Close() override;

  // After Close: gives the file its name. That is durable only after SyncDirectory.
  absl::Status Rename();
  // Close, Rename and SyncDirectory.
  absl::Status Commit();

  const FilePath& path() const { return path_; }

 private:
  OutputFile(const FilePath& path, std::unique_ptr<FileSink> sink)
      : path_(path), sink_(std::move(sink)) {}

  const FilePath path_;
  const std::unique_ptr<FileSink> sink_;  // holds the lock, so it is open to the end
  bool closed_ = false;
  bool renamed_ = false;
};

// Removes what killed writers of this one file left. What cannot be removed is left where it is: it
// does not keep the file from being written.
void RemoveTemporaryFilesOf(const FilePath& path);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_OUTPUT_FILE_H_
