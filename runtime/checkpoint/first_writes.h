// FirstWrites: the files that a training writes into model_dir before its first loop, and how to
// remove them if that loop fails.
#ifndef TPURUN_RUNTIME_CHECKPOINT_FIRST_WRITES_H_
#define TPURUN_RUNTIME_CHECKPOINT_FIRST_WRITES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/io/directory.h"

namespace tpurun {

// The Directory objects of its FilePaths must outlive it.
class FirstWrites {
 public:
  FirstWrites() = default;
  FirstWrites(const FirstWrites&) = delete;
  FirstWrites& operator=(const FirstWrites&) = delete;
  ~FirstWrites() { Keep(); }

  // Makes the directory and its missing parents. May be called again.
  absl::Status MakeDirectory(const std::string& dir);
  // Writes the file. An existing file of that name stays beside it under a temporary name until
  // Keep or Undo.
  absl::Status WriteFile(const FilePath& path, const std::string& bytes);
  // Undo will remove `path`. The file may be absent at that time.
  void Created(const FilePath& path) { created_.push_back(path); }

  // The written files stay: there is nothing left to undo.
  void Keep();
  // Restores the former state as far as the file system permits, the latest file first. A file that
  // cannot be restored stays under its temporary name. Directories that were absent are removed if
  // `dir`, the last of them, is not open or has not been moved. Directories that other processes
  // have locked stay.
  void Undo(const Directory& dir);

 private:
  void Forget();

  struct Replaced {
    FilePath path;
    std::optional<FilePath> before;  // nullopt if there was no file
  };
  std::set<std::string> directories_;  // absent before, or made here; parents come first
  std::vector<Replaced> replaced_;
  std::vector<FilePath> created_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_FIRST_WRITES_H_
