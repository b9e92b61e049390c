// The bytes were written by TensorFlow 2.15.1: tf.io.TFRecordWriter on five event_pb2.Events, all
// of wall_time 1700000000.5.
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/io/event_reader.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"
#include "tests/io/from_hex.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kEvents = FromHex(
    "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b3531100f0000000000"
    "00006d532b090900002040fc54d94110143a020801b8794e491e00000000000000d9dc12320900002040fc54d941"
    "10143a110803120d2f6d2f6d6f64656c2e636b70746eaca32a100000000000000095fbfe180900002040fc54d941"
    "2205220308b60151e3b01c4500000000000000ebe668b00900002040fc54d94110142a380a0b0a046c6f73731500"
    "00803e0a290a0f636865636b706f696e745f7061746842160807120042102f6d2f6d6f64656c2e636b70742d3230"
    "c87d2f7f");

EventWriter::Options At(double seconds) {
  return {.host = "host", .wall_time = [seconds] { return seconds; }};
}

void WriteEvents(const std::string& dir) {
  ASSERT_TRUE(MakeDirectories(dir).ok());
  const std::unique_ptr<EventWriter> writer = *EventWriter::Open(dir, At(1700000000.5));
  EXPECT_EQ(writer->path().text(), JoinPath(dir, "events.out.tfevents.1700000000.host"));
  ASSERT_TRUE(writer->WriteSessionStart(20).ok());
  ASSERT_TRUE(writer->WriteCheckpoint(20, "/m/model.ckpt").ok());
  // A GraphDef with versions.producer 182.
  ASSERT_TRUE(writer->WriteGraph("\x22\x03\x08\xb6\x01").ok());
  tensorflow::Summary summary;
  AddScalar("loss", 0.25, &summary);
  AddString("checkpoint_path", "/m/model.ckpt-20", &summary);
  ASSERT_TRUE(writer->WriteSummary(20, summary).ok());
  ASSERT_TRUE(writer->Close().ok());
}

TEST(Event, WritesTheBytesThatTensorFlowWrites) {
  const TempDir dir;
  WriteEvents(dir.Path("new"));
  EXPECT_TRUE(*ReadFile(dir.Path("new/events.out.tfevents.1700000000.host")) == kEvents);
}

TEST(Event, AFileThatAnotherProcessHasJustMadeIsItsOwn) {
  const TempDir dir;
  const std::string taken = dir.Path("events.out.tfevents.1700000000.host");
  EventWriter::Options options = At(1700000000.5);
  // Between the look at the directory and the file.
  options.wall_time = [&taken] {
    EXPECT_TRUE(WriteFileAtomically(taken, "theirs").ok());
    return 1700000000.5;
  };
  const std::unique_ptr<EventWriter> writer = *EventWriter::Open(dir.path(), options);
  EXPECT_EQ(writer->path().text(), dir.Path("events.out.tfevents.1700000001.host"));
  EXPECT_EQ(*ReadFile(taken), "theirs");
}

TEST(Event, TheVersionIsReadableAtOnceAndMoreAfterFlush) {
  const TempDir dir;
  const std::unique_ptr<EventWriter> writer = *EventWriter::Open(dir.path(), At(1700000000.5));
  EXPECT_TRUE(*ReadFile(writer->path()) == kEvents.substr(0, 40));
  ASSERT_TRUE(writer->WriteSessionStart(20).ok());
  ASSERT_TRUE(writer->Flush().ok());
  EXPECT_TRUE(*ReadFile(writer->path()) == kEvents.substr(0, 71));
}

TEST(Event, ReadsBackInOrder) {
  const TempDir dir;
  WriteEvents(dir.path());
  const std::unique_ptr<EventReader> reader =
      *EventReader::Open(dir.Path("events.out.tfevents.1700000000.host"));
  std::vector<tensorflow::Event> events;
  tensorflow::Event event;
  while (*reader->Read(&event)) events.push_back(event);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].wall_time(), 1700000000.5);
  EXPECT_EQ(events[1].session_log().status(), tensorflow::SessionLog::START);
  EXPECT_EQ(events[1].step(), 20);
  EXPECT_EQ(events[2].session_log().checkpoint_path(), "/m/model.ckpt");
  EXPECT_EQ(events[3].graph_def(), "\x22\x03\x08\xb6\x01");
  ASSERT_EQ(events[4].summary().value_size(), 2);
  EXPECT_EQ(events[4].summary().value(0).simple_value(), 0.25f);
  EXPECT_EQ(events[4].summary().value(1).tensor().string_val(0), "/m/model.ckpt-20");
}

TEST(Event, EachStartMakesAFileWhoseNameComesLast) {
  const TempDir dir;
  for (int start = 0; start < 3; ++start) {
    ASSERT_TRUE(EventWriter::Open(dir.path(), At(1700000000.5)).ok());
  }
  EXPECT_THAT(*ListDirectory(dir.path()), ElementsAre("events.out.tfevents.1700000000.host",
                                                      "events.out.tfevents.1700000001.host",
                                                      "events.out.tfevents.1700000002.host"));
  // A file of another host or writer counts too, and one from a clock ahead of ours.
  std::ofstream(dir.Path("events.out.tfevents.1800000000.other.123.v2"));
  std::ofstream(dir.Path("events.out.tfevents.x"));
  EXPECT_EQ((*EventWriter::Open(dir.path(), At(1700000009)))->path().text(),
            dir.Path("events.out.tfevents.1800000001.host"));
}

TEST(Event, TheDefaultNameHasTheTimeAndAHost) {
  const TempDir dir;
  const double before = WallTime();
  const std::unique_ptr<EventWriter> writer = *EventWriter::Open(dir.path());
  const std::string name = BaseName(writer->path().text());
  EXPECT_TRUE(IsEventFileName(name));
  EXPECT_GE(std::stod(name.substr(20, 10)), static_cast<int64_t>(before));
  EXPECT_GT(name.size(), 31u);
}

TEST(Event, AnEventKeepsItsOwnWallTime) {
  const TempDir dir;
  const std::unique_ptr<EventWriter> writer = *EventWriter::Open(dir.path(), At(5));
  tensorflow::Event event;
  event.set_wall_time(3);
  ASSERT_TRUE(writer->Write(event).ok());
  ASSERT_TRUE(writer->Close().ok());
  const std::unique_ptr<EventReader> reader = *EventReader::Open(writer->path().text());
  ASSERT_TRUE(*reader->Read(&event));
  ASSERT_TRUE(*reader->Read(&event));
  EXPECT_EQ(event.wall_time(), 3);
}

TEST(Event, DamageIsDataLoss) {
  const TempDir dir;
  const std::string path = dir.Path("events.out.tfevents.1.h");
  const auto last_status = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const std::unique_ptr<EventReader> reader = *EventReader::Open(path);
    tensorflow::Event event;
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) more = reader->Read(&event);
    return more.status();
  };
  EXPECT_TRUE(last_status(kEvents).ok());
  for (size_t byte = 0; byte < kEvents.size(); ++byte) {
    std::string damaged = kEvents;
    damaged[byte] ^= 4;
    EXPECT_EQ(ExitCode(last_status(damaged)), 65) << byte;
  }
  EXPECT_THAT(std::string(last_status(kEvents.substr(0, kEvents.size() - 1)).message()),
              HasSubstr("record 4 of " + path +
                        ": truncated: got 72 bytes after its header, "
                        "want 73 (offset "));
  // A good record that is not an Event: field 1 of the wrong wire type and cut short.
  const std::unique_ptr<RecordWriter> writer = *RecordWriter::Create(path);
  ASSERT_TRUE(writer->Write("\x0a\x05").ok());
  ASSERT_TRUE(writer->Close().ok());
  tensorflow::Event event;
  const absl::Status status = (*EventReader::Open(path))->Read(&event).status();
  EXPECT_EQ(status.message(), "record 0 of " + path + ": not an Event (offset 0)");
}

}  // namespace
}  // namespace tpurun
