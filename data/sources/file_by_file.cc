#include "data/sources/file_by_file.h"

#include "data/sources/files.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::StatusOr<bool> FileByFile::Read(SourceRecord* record) {
  while (open_ || current_ < files_.size()) {
    if (!open_) {
      RETURN_IF_ERROR(OpenFile());
      open_ = true;
    }
    ASSIGN_OR_RETURN(const bool found, ReadOfFile(record));
    if (found) return true;
    RETURN_IF_ERROR(CheckEnded());
    open_ = false;
    ++current_;
  }
  return false;
}

absl::Status FileByFile::StartEpoch(int64_t epoch) {
  // At the start of a pass nothing was read, and a pipe need not be read again.
  if (open_ || current_ > 0) RETURN_IF_ERROR(CheckReadableAgain(files_));
  open_ = false;
  current_ = 0;
  return absl::OkStatus();
}

}  // namespace tpurun
