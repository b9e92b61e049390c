// OutputFile: a file that gets its name only when it is complete.
#ifndef TPURUN_RUNTIME_IO_OUTPUT_FILE_H_
#define TPURUN_RUNTIME_IO_OUTPUT_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/file.h"

namespace tpurun {

// It is written under its TemporaryName in the same directory and locked (flock) while the object
// lives. The lock tells it from the leftover of a killed process: the system releases a lock when
// its process ends, however it ends, and RemoveTemporaryFiles removes only files that it can lock
// itself. A process number would not do: another process, or a process of another container, may
// have it later. If the file system has no locks, nothing is removed.
class OutputFile : public ByteSink {
 public:
  // `path` is a result of ReplaceableFile. An existing file of that name stays until Rename.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const FilePath& path);
  // Removes the temporary file unless Rename has given it its name.
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  absl::Status Append(std::string_view bytes) override;
  absl::Status Flush() override { return sink_->Flush(); }
  absl::Status Sync() override { return sink_->Sync(); }
  // Makes the bytes durable, still under the temporary name. Nothing may be appended afterwards.
  absl::Status Close() override;

  // Renames the file to its name, after Close. The name is durable only after SyncDirectory.
  absl::Status Rename() { return RenameTo(path_); }
  // The same with another name in the same directory.
  absl::Status RenameTo(const FilePath& path);
  // Close, Rename and SyncDirectory.
  absl::Status Commit();

  const FilePath& path() const { return path_; }

 private:
  OutputFile(const FilePath& path, std::unique_ptr<FileSink> sink)
      : path_(path), sink_(std::move(sink)) {}

  const FilePath path_;
  const std::unique_ptr<FileSink> sink_;  // has the lock, so it stays open until the end
  bool closed_ = false;
  bool renamed_ = false;
};

// Gives a file another name in the same file system, and replaces what has that name. The name is
// durable only after SyncDirectory.
absl::Status RenameFile(const FilePath& from, const FilePath& to);

// Removes the temporary files that killed writers of this one file left. A file that cannot be
// removed stays: it does not prevent writing the file.
void RemoveTemporaryFilesOf(const FilePath& path);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_OUTPUT_FILE_H_
