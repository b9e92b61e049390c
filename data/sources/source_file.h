// SourceFile: an open file of a source.
#ifndef TPURUN_DATA_SOURCES_SOURCE_FILE_H_
#define TPURUN_DATA_SOURCES_SOURCE_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/records.h"

namespace tpurun {

class SourceFile {
 public:
  virtual ~SourceFile() = default;
  // As SourceReader::Read. Sets what Origin has of a record, without its file.
  virtual absl::StatusOr<bool> Read(SourceRecord* record) = 0;
  // Called after Read has returned false. An error if the file may not end there.
  virtual absl::Status CheckEnd() const = 0;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_SOURCE_FILE_H_
