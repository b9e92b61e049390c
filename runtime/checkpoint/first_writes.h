// FirstWrites: what training puts into model_dir before its first loop, and how to take it back
// when that loop fails.
#ifndef TPURUN_RUNTIME_CHECKPOINT_FIRST_WRITES_H_
#define TPURUN_RUNTIME_CHECKPOINT_FIRST_WRITES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/io/directory.h"

namespace tpurun {

// The directories that its files are named in outlive it.
class FirstWrites {
 public:
  FirstWrites() = default;
  FirstWrites(const FirstWrites&) = delete;
  FirstWrites& operator=(const FirstWrites&) = delete;
  ~FirstWrites() { Keep(); }

  // Makes the directory, and those above it that are missing; may be called again.
  absl::Status MakeDirectory(const std::string& dir);
  // Writes the file; what was there stays beside it under a temporary name until Keep or Undo.
  absl::Status WriteFile(const FilePath& path, const std::string& bytes);
  // Undo removes `path`, which may not exist then.
  void Created(const FilePath& path) { created_.push_back(path); }

  // What was written stays: there is nothing left to undo.
  void Keep();
  // Everything as it was, as far as the file system lets us: the latest first. What could not be
  // put back stays under its temporary name. Directories that were absent are removed if `dir`, the
  // last of them, is still where it was, or is not open; those that others have locked stay.
  void Undo(const Directory& dir);

 private:
  void Forget();

  struct Replaced {
    FilePath path;
    std::optional<FilePath> before;  // nullopt: there was no file
  };
  std::vector<std::string> directories_;  // that were absent, outermost first
  std::vector<Replaced> replaced_;
  std::vector<FilePath> created_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_CHECKPOINT_FIRST_WRITES_H_
