#include "runtime/io/event_reader.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::StatusOr<std::unique_ptr<EventReader>> EventReader::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::OpenRegular(path));
  return std::make_unique<EventReader>(std::make_unique<RecordReader>(std::move(source), path),
                                       path);
}

absl::StatusOr<bool> EventReader::Read(tensorflow::Event* event) {
  const int64_t number = records_->num_records();
  const uint64_t offset = records_->offset();
  ASSIGN_OR_RETURN(const bool more, records_->Read(&record_));
  if (!more) return false;
  if (!event->ParseFromString(record_)) {
    return absl::DataLossError(
        absl::StrFormat("record %d of %s: not an Event (offset %d)", number, name_, offset));
  }
  return true;
}

}  // namespace tpurun
