// Event files, which TensorBoard reads: TFRecord framing (record_format.h), one tensorflow::Event
// per record. The first event is file_version "brain.Event:2". Source:
// tensorflow/core/util/events_writer.h.
#ifndef TPURUN_RUNTIME_IO_EVENT_WRITER_H_
#define TPURUN_RUNTIME_IO_EVENT_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/event.pb.h"
#include "runtime/io/directory.h"
#include "runtime/io/record_writer.h"

namespace tpurun {

// Seconds since 1970.
double WallTime();

// The name of this machine.
std::string HostName();

// True if TensorBoard treats a file of this base name as an event file.
bool IsEventFileName(const std::string& name);

// A scalar on TensorBoard's scalar dashboard.
void AddScalar(const std::string& tag, float value, tensorflow::Summary* summary);
// Adds a string as a DT_STRING scalar tensor without metadata, which no dashboard shows. TensorFlow
// writes `checkpoint_path` in this way, beside the metrics of an evaluation.
void AddString(const std::string& tag, const std::string& text, tensorflow::Summary* summary);
// Adds numbers, row-major, as a DT_DOUBLE tensor without metadata, which no dashboard shows.
// TPUEstimator writes a metric that is an array in this way.
void AddArray(const std::string& tag, const std::vector<int64_t>& dims,
              const std::vector<double>& values, tensorflow::Summary* summary);
// Markdown on TensorBoard's text dashboard.
void AddText(const std::string& tag, const std::string& markdown, tensorflow::Summary* summary);

// Writes one event file. Not thread-safe.
class EventWriter {
 public:
  struct Options {
    std::string host;                              // "": the name of this machine
    std::function<double()> wall_time = WallTime;  // the time of the events, in seconds since 1970
  };

  // Makes a new file events.out.tfevents.<10 digits of seconds>.<host> and writes the version
  // record. Its name sorts after the names of all event files in `dir`: TensorBoard reads the files
  // in name order and never returns to a file once a later one has data. After an error the new
  // file does not exist.
  static absl::StatusOr<std::unique_ptr<EventWriter>> Open(const FilePath& dir,
                                                           const Options& options);
  static absl::StatusOr<std::unique_ptr<EventWriter>> Open(const FilePath& dir);

  const FilePath& path() const { return path_; }

  // An event without a wall_time gets the current time.
  absl::Status Write(tensorflow::Event event);

  absl::Status WriteSummary(int64_t step, const tensorflow::Summary& summary);
  // Training begins or resumes at `step`. Must be written before any value: TensorBoard then drops
  // the values of an interrupted run from `step` on.
  absl::Status WriteSessionStart(int64_t step);
  // `path` is the prefix of the checkpoint without the step ("DIR/model.ckpt").
  absl::Status WriteCheckpoint(int64_t step, const std::string& path);
  // `graph_def` is a serialized GraphDef.
  absl::Status WriteGraph(const std::string& graph_def);

  // Flush makes the events so far visible to TensorBoard. Sync makes them durable.
  absl::Status Flush() { return records_->Flush(); }
  absl::Status Sync() { return records_->Sync(); }
  absl::Status Close() { return records_->Close(); }

 private:
  EventWriter(FilePath path, std::unique_ptr<RecordWriter> records,
              std::function<double()> wall_time)
      : path_(std::move(path)), records_(std::move(records)), wall_time_(std::move(wall_time)) {}

  const FilePath path_;
  const std::unique_ptr<RecordWriter> records_;
  const std::function<double()> wall_time_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_EVENT_WRITER_H_
