// Event files for the tests of this folder, of a clock that goes a second a step.
#ifndef TPURUN_TESTS_REPORT_EVENT_FILES_H_
#define TPURUN_TESTS_REPORT_EVENT_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"

namespace tpurun {

inline constexpr double kStartSeconds = 1700000000;

// Writes one event file into `dir`, which is made.
class TestEvents {
 public:
  explicit TestEvents(const std::string& dir) {
    EXPECT_TRUE(MakeDirectories(dir).ok());
    writer_ = *EventWriter::Open(dir, {.host = "host", .wall_time = [] { return kStartSeconds; }});
  }
  ~TestEvents() { EXPECT_TRUE(writer_->Close().ok()); }

  std::string path() const { return writer_->path().text(); }

  TestEvents& Start(int64_t step) {
    EXPECT_TRUE(writer_->WriteSessionStart(step).ok());
    return *this;
  }
  TestEvents& Scalar(int64_t step, const std::string& tag, float value) {
    tensorflow::Summary summary;
    AddScalar(tag, value, &summary);
    return Write(step, summary);
  }
  // A tensor as TensorFlow 2 writes it for a dashboard.
  TestEvents& Tensor(int64_t step, const std::string& tag, const std::string& plugin,
                     const tensorflow::TensorProto& tensor) {
    tensorflow::Summary summary;
    tensorflow::Summary::Value* const value = summary.add_value();
    value->set_tag(tag);
    value->mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
    *value->mutable_tensor() = tensor;
    return Write(step, summary);
  }
  TestEvents& Write(int64_t step, const tensorflow::Summary& summary) {
    tensorflow::Event event;
    event.set_wall_time(kStartSeconds + static_cast<double>(step));
    event.set_step(step);
    *event.mutable_summary() = summary;
    EXPECT_TRUE(writer_->Write(event).ok());
    return *this;
  }

 private:
  std::unique_ptr<EventWriter> writer_;
};

}  // namespace tpurun

#endif  // TPURUN_TESTS_REPORT_EVENT_FILES_H_
