// Reads the events of one event file (event_writer.h) in order. Not thread-safe.
#ifndef TPURUN_RUNTIME_IO_EVENT_READER_H_
#define TPURUN_RUNTIME_IO_EVENT_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/event.pb.h"
#include "runtime/io/record_reader.h"

namespace tpurun {

class EventReader {
 public:
  static absl::StatusOr<std::unique_ptr<EventReader>> Open(const std::string& path);
  // `name` names the file in messages.
  EventReader(std::unique_ptr<RecordReader> records, std::string name)
      : records_(std::move(records)), name_(std::move(name)) {}

  // Puts the next event into *event. Returns false at the end. Damage is DataLoss with the file,
  // the record and its byte offset. The file of a killed run may end within a record.
  absl::StatusOr<bool> Read(tensorflow::Event* event);

 private:
  const std::unique_ptr<RecordReader> records_;
  const std::string name_;
  std::string record_;
};

// The values of a tensor of floats, doubles, INT32 or INT64, as many as the tensor holds. Empty for
// other types.
std::vector<double> TensorNumbers(const tensorflow::TensorProto& tensor);
// The same if the number of values is the product of the dimensions and at least 1; else nullopt.
std::optional<std::vector<double>> TensorArray(const tensorflow::TensorProto& tensor);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_EVENT_READER_H_
