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
  // `name` stands for the file in messages.
  EventReader(std::unique_ptr<RecordReader> records, std::string name)
      : records_(std::move(records)), name_(std::move(name)) {}

  // Puts the next event into *event; false at the end. Damage is DataLoss with the file, the record
  // and its offset. The file of a run that was killed may end in a piece of a record.
  absl::StatusOr<bool> Read(tensorflow::Event* event);

 private:
  const std::unique_ptr<RecordReader> records_;
  const std::string name_;
  std::string record_;
};

// The values of a tensor of floats, doubles, INT32 or INT64, as many as there are in it; none of
// another type.
std::vector<double> TensorNumbers(const tensorflow::TensorProto& tensor);
// The same where they are what the dimensions say, one or more; nullopt otherwise.
std::optional<std::vector<double>> TensorArray(const tensorflow::TensorProto& tensor);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_EVENT_READER_H_
