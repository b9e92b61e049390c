#include "cli/inspect.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "data/images/encode.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/example.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"
#include "runtime/io/png.h"
#include "runtime/io/record_writer.h"
#include "runtime/io/tensor_bundle.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class InspectTest : public ::testing::Test {
 protected:
  InspectTest() : prefix_(dir_.Path("model.ckpt-5")) {}

  void WriteCheckpoint() {
    const std::unique_ptr<BundleWriter> writer = *BundleWriter::Create(prefix_);
    ASSERT_TRUE(
        writer->Add("dense/kernel", tensorflow::DT_FLOAT, {1, 2}, std::string(8, '\0')).ok());
    ASSERT_TRUE(
        writer->Add("global_step", tensorflow::DT_INT64, {}, std::string("\x05\0\0\0\0\0\0\0", 8))
            .ok());
    ASSERT_TRUE(writer->Add("rate", tensorflow::DT_FLOAT, {}, "\xcd\xcc\xcc\x3d").ok());
    ASSERT_TRUE(writer->AddStrings("words", {2}, {"a", "bc"}).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  std::string WriteEvents() {
    EXPECT_TRUE(MakeDirectories(dir_.Path("eval")).ok());
    const std::unique_ptr<EventWriter> writer =
        *EventWriter::Open(dir_.Path("eval"), {.host = "h", .wall_time = [] { return 1.5; }});
    EXPECT_TRUE(writer->WriteSessionStart(5).ok());
    EXPECT_TRUE(writer->WriteGraph("\x22\x03\x08\xb6\x01").ok());
    tensorflow::Summary summary;
    AddScalar("loss", 0.1f, &summary);
    AddArray("confusion", {2, 3}, {3, 0, 16777217, 0.5, 1, 2}, &summary);
    AddString("checkpoint_path", "/m/model.ckpt-5", &summary);
    tensorflow::Summary::Value* const scalar = summary.add_value();
    scalar->set_tag("tf2");
    scalar->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
    scalar->mutable_tensor()->set_tensor_content(std::string("\x00\x00\xc0\x3f", 4));  // 1.5
    EXPECT_TRUE(writer->WriteSummary(5, summary).ok());
    EXPECT_TRUE(writer->Close().ok());
    return writer->path().text();
  }
  std::string Text(const std::string& path, bool json, int64_t limit = 0) {
    std::ostringstream out;
    const absl::Status status = Inspect(path, json, out, limit);
    EXPECT_TRUE(status.ok()) << status;
    return out.str();
  }

  const TempDir dir_;
  const std::string prefix_;
};

TEST_F(InspectTest, ListsACheckpointHoweverItIsNamed) {
  WriteCheckpoint();
  ASSERT_TRUE(WriteCheckpointState(dir_.path(), {.latest = prefix_, .all = {prefix_}}).ok());
  const std::string text = "checkpoint " + prefix_ + ": 4 tensors, 29 bytes\n" +
                           "name          dtype    shape  bytes  value\n"
                           "dense/kernel  float32  [1,2]      8\n"
                           "global_step   int64    []         8  5\n"
                           "rate          float32  []         4  0.1\n"
                           "words         string   [2]        9\n";
  for (const std::string& path :
       {dir_.path(), prefix_, prefix_ + ".index", prefix_ + ".data-00000-of-00001"}) {
    EXPECT_EQ(Text(path, false), text) << path;
  }
  EXPECT_EQ(Text(prefix_, true),
            "{\"name\":\"dense/kernel\",\"dtype\":\"float32\",\"shape\":[1,2],\"bytes\":8}\n"
            "{\"name\":\"global_step\",\"dtype\":\"int64\",\"shape\":[],\"bytes\":8,\"value\":5}\n"
            "{\"name\":\"rate\",\"dtype\":\"float32\",\"shape\":[],\"bytes\":4,\"value\":0.1}\n"
            "{\"name\":\"words\",\"dtype\":\"string\",\"shape\":[2],\"bytes\":9}\n");
}

TEST_F(InspectTest, ListsEvents) {
  const std::string path = WriteEvents();
  EXPECT_EQ(Text(path, false),
            "event file " + path + "\n" +
                "      step          wall_time  kind            tag                       value\n"
                "         0           1.500000  file_version    -                         "
                "brain.Event:2\n"
                "         5           1.500000  session_log     START                     -\n"
                "         0           1.500000  graph_def       -                         5 bytes\n"
                "         5           1.500000  scalar          loss                      0.1\n"
                "         5           1.500000  tensor          confusion                 "
                "[[3,0,16777217],[0.5,1,2]]\n"
                "         5           1.500000  tensor          checkpoint_path           "
                "/m/model.ckpt-5\n"
                "         5           1.500000  tensor          tf2                       1.5\n");
  const std::string json = Text(dir_.Path("eval"), true);
  EXPECT_THAT(json, HasSubstr("{\"step\":5,\"wall_time\":1.5,\"kind\":\"scalar\",\"tag\":\"loss\","
                              "\"value\":0.1}\n"));
  EXPECT_THAT(json, HasSubstr("\"tag\":\"confusion\",\"value\":[[3,0,16777217],[0.5,1,2]]}\n"));
  EXPECT_THAT(json, HasSubstr("{\"step\":5,\"wall_time\":1.5,\"kind\":\"session_log\","
                              "\"tag\":\"START\",\"value\":null}\n"));
}

TEST_F(InspectTest, AnArrayIsWhatItsDimensionsSayOrItsType) {
  const std::unique_ptr<EventWriter> writer =
      *EventWriter::Open(dir_.path(), {.host = "h", .wall_time = [] { return 1.5; }});
  tensorflow::Summary summary;
  AddArray("large", {300}, std::vector<double>(300, 12.5), &summary);
  AddArray("short", {2, 2}, {1, 2, 3}, &summary);
  AddArray("long", {2}, {1, 2, 3}, &summary);
  AddArray("zero", {0, int64_t{1} << 40}, {}, &summary);
  AddArray("negative", {-1}, {1}, &summary);
  AddArray("huge", {int64_t{1} << 40, int64_t{1} << 40}, {1}, &summary);
  AddArray("deep", std::vector<int64_t>(255, 1), {1}, &summary);
  AddArray("none", {}, {}, &summary);
  tensorflow::TensorProto& whole = *summary.add_value()->mutable_tensor();
  whole.set_dtype(tensorflow::DT_INT32);
  whole.mutable_tensor_shape()->add_dim()->set_size(2);
  whole.add_int_val(-7);
  whole.add_int_val(8);
  ASSERT_TRUE(writer->WriteSummary(5, summary).ok());
  ASSERT_TRUE(writer->Close().ok());
  const std::string text = Text(writer->path().text(), false);
  for (const char* tag : {"short", "long", "zero", "negative", "huge", "deep", "none"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrFormat("%-24s  DT_DOUBLE\n", tag)));
  }
  EXPECT_THAT(text, HasSubstr("  [-7,8]\n"));
  EXPECT_THAT(text, HasSubstr("12.5,12.5,...\n"));
  EXPECT_THAT(Text(writer->path().text(), true), HasSubstr("12.5,12.5]}\n"));
}

TEST_F(InspectTest, ListsRecordsOfEveryCompression) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["y"].mutable_int64_list()->add_value(3);
  features["x"].mutable_float_list()->add_value(0.5);
  features["x"].mutable_float_list()->add_value(0.5);
  features["none"];
  const std::string path = dir_.Path("data.tfrecord");
  for (const Compression compression :
       {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    const std::unique_ptr<RecordWriter> writer = *RecordWriter::Create(path, compression);
    ASSERT_TRUE(writer->Write("\xff").ok());
    ASSERT_TRUE(writer->Write(example.SerializeAsString()).ok());
    ASSERT_TRUE(writer->Close().ok());
    EXPECT_EQ(Text(path, true),
              "{\"record\":0,\"offset\":0,\"bytes\":1,\"features\":null}\n"
              "{\"record\":1,\"offset\":17,\"bytes\":43,\"features\":"
              "{\"none\":\"missing\",\"x\":\"float[2]\",\"y\":\"int64[1]\"}}\n");
    EXPECT_THAT(Text(path, false), HasSubstr("         1            17          43  "
                                             "none=missing x=float[2] y=int64[1]\n"));
  }
}

TEST_F(InspectTest, ShowsTheValuesOfTheFirstRecords) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["int"].mutable_int64_list()->add_value(-3);
  for (int i = 0; i < 17; ++i) features["many"].mutable_int64_list()->add_value(i);
  features["float"].mutable_float_list()->add_value(0.1f);
  features["float"].mutable_float_list()->add_value(NAN);
  features["text"].mutable_bytes_list()->add_value("f\xC3\xBCr \"x\"\n");
  features["text"].mutable_bytes_list()->add_value("\xff");
  features["long"].mutable_bytes_list()->add_value(std::string(63, 'a') + "\xC3\xBC" + "b");
  features["raw"].mutable_bytes_list()->add_value(std::string(65, '\0') + "\xff");
  features["none"];
  const std::string path = dir_.Path("data.tfrecord");
  const std::unique_ptr<RecordWriter> writer = *RecordWriter::Create(path, Compression::kGzip);
  ASSERT_TRUE(writer->Write(example.SerializeAsString()).ok());
  ASSERT_TRUE(writer->Write("\xff").ok());
  ASSERT_TRUE(writer->Write("third").ok());
  ASSERT_TRUE(writer->Close().ok());
  const std::string a(63, 'a');
  const std::vector<std::string> lines =
      absl::StrSplit(Text(path, false, 2), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 12);
  EXPECT_THAT(lines[2], HasSubstr("  float=float[2] int=int64[1] long=bytes[1] many=int64[17] "
                                  "none=missing raw=bytes[1] text=bytes[2]"));
  EXPECT_EQ(lines[3], "            float: 0.1 nan");
  EXPECT_EQ(lines[4], "            int: -3");
  EXPECT_EQ(lines[5], "            long: \"" + a + "\"... (66 bytes)");
  EXPECT_EQ(lines[6], "            many: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ... (17 values)");
  EXPECT_EQ(lines[7], "            none:");
  std::string zeros;
  for (int i = 0; i < 64; ++i) zeros += "\\000";
  EXPECT_EQ(lines[8], "            raw: \"" + zeros + "\"... (66 bytes)");
  EXPECT_EQ(lines[9], "            text: \"f\xC3\xBCr \\\"x\\\"\\n\" \"\\377\"");
  EXPECT_EQ(lines[10].substr(0, 10), "         1");
  EXPECT_EQ(lines[11], "            \"\\377\"");

  const std::vector<std::string> rows =
      absl::StrSplit(Text(path, true, 2), '\n', absl::SkipEmpty());
  ASSERT_EQ(rows.size(), 2);
  EXPECT_THAT(rows[0],
              HasSubstr("\"text\":\"bytes[2]\"},\"values\":{\"float\":[0.1,\"NaN\"],\"int\":[-3],"
                        "\"long\":[{\"bytes\":66,\"first\":\"" +
                        a + "\"}],\"many\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],\"none\":[],"));
  EXPECT_THAT(rows[0], HasSubstr("\"text\":[\"f\\u00fcr \\\"x\\\"\\n\",{\"b64\":\"/w==\"}]}}"));
  EXPECT_THAT(rows[1], HasSubstr("\"features\":null,\"values\":null}"));
  // Fewer records than asked for, and what comes after them is not read.
  EXPECT_THAT(Text(path, true, 100), HasSubstr("{\"record\":2,"));
  std::string bytes = *ReadFile(path);
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 12);
  EXPECT_EQ(Text(path, true, 1), rows[0] + "\n");
}

TEST_F(InspectTest, ShowsWhatTheHeadersOfImagesSay) {
  constexpr ImageSize kSize = {.height = 40, .width = 50, .channels = 3};
  const std::vector<uint8_t> pixels(kSize.elements(), 100);
  const std::string jpeg = EncodeJpeg(pixels, kSize, 90);
  const std::string png = *EncodePng(std::span(pixels).first(6), 2, 3, 1);
  // Only the header is read.
  const std::string without_end = jpeg.substr(0, jpeg.size() - 10);
  const std::string jpeg_begin = jpeg.substr(0, 30), png_begin = png.substr(0, 20);
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["jpeg"].mutable_bytes_list()->add_value(jpeg);
  features["pair"].mutable_bytes_list()->add_value(png);
  features["pair"].mutable_bytes_list()->add_value(without_end);
  features["begin"].mutable_bytes_list()->add_value(jpeg_begin);
  features["begin"].mutable_bytes_list()->add_value(png_begin);
  const std::string path = dir_.Path("data.tfrecord");
  const std::unique_ptr<RecordWriter> writer = *RecordWriter::Create(path);
  ASSERT_TRUE(writer->Write(example.SerializeAsString()).ok());
  ASSERT_TRUE(writer->Close().ok());

  const std::vector<std::string> lines =
      absl::StrSplit(Text(path, false, 1), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 6);
  EXPECT_EQ(lines[3],
            "            begin: cannot be decoded: a JPEG whose last bytes are missing (30 bytes) "
            "cannot be decoded: a damaged PNG: its last bytes are missing (20 bytes)");
  EXPECT_EQ(lines[4], absl::StrFormat("            jpeg: JPEG 50x40x3 (%d bytes)", jpeg.size()));
  EXPECT_EQ(lines[5],
            absl::StrFormat("            pair: PNG 3x2x1 (%d bytes) JPEG 50x40x3 (%d bytes)",
                            png.size(), jpeg.size() - 10));
  EXPECT_THAT(
      Text(path, true, 1),
      HasSubstr(absl::StrFormat(
          "\"values\":{\"begin\":["
          "{\"bytes\":30,\"format\":\"JPEG\",\"error\":\"a JPEG whose last bytes are missing\"},"
          "{\"bytes\":20,\"format\":\"PNG\","
          "\"error\":\"a damaged PNG: its last bytes are missing\"}],"
          "\"jpeg\":[{\"bytes\":%d,\"format\":\"JPEG\","
          "\"width\":50,\"height\":40,\"channels\":3}],"
          "\"pair\":[{\"bytes\":%d,\"format\":\"PNG\",\"width\":3,\"height\":2,\"channels\":1},",
          jpeg.size(), png.size())));
}

TEST_F(InspectTest, OnlyRecordsHaveALimit) {
  WriteCheckpoint();
  for (const std::string& path : {prefix_, WriteEvents(), dir_.Path("eval")}) {
    std::ostringstream out;
    EXPECT_EQ(Inspect(path, false, out, 1).ToString(),
              "INVALID_ARGUMENT: --limit: " + path + " is no TFRecord file, leave it out");
    EXPECT_EQ(out.str(), "");
  }
}

// A name that would clear the screen and write a line of its own.
constexpr char kEvil[] = "zz\n\x1b[2Jevil\x7f\xC2\x9B";
constexpr char kEvilEscaped[] = "zz\\n\\033[2Jevil\\177\\302\\233";
constexpr char kEvilJson[] = "\"zz\\n\\u001b[2Jevil\\u007f\\u009b\"";

TEST_F(InspectTest, NamesOfACheckpointAreEscaped) {
  const std::string prefix = dir_.Path("a\nb");
  const std::unique_ptr<BundleWriter> writer = *BundleWriter::Create(prefix);
  ASSERT_TRUE(writer->Add("f\xC3\xBCr", tensorflow::DT_FLOAT, {2}, std::string(8, '\0')).ok());
  ASSERT_TRUE(writer->Add(kEvil, tensorflow::DT_FLOAT, {2}, std::string(8, '\0')).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(Text(prefix, false), "checkpoint " + dir_.Path("a\\nb") + ": 2 tensors, 16 bytes\n" +
                                     "name                         dtype    shape  bytes  value\n"
                                     "f\xC3\xBCr                         float32  [2]        8\n" +
                                     kEvilEscaped + "  float32  [2]        8\n");
  EXPECT_THAT(Text(prefix, true), HasSubstr(std::string("{\"name\":") + kEvilJson + ","));
}

TEST_F(InspectTest, NamesOfEventsAreEscaped) {
  const std::unique_ptr<EventWriter> writer =
      *EventWriter::Open(dir_.path(), {.host = "h", .wall_time = [] { return 1.5; }});
  tensorflow::Summary summary;
  AddString(kEvil, kEvil, &summary);
  ASSERT_TRUE(writer->WriteSummary(5, summary).ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_THAT(Text(writer->path().text(), false),
              HasSubstr(std::string("tensor          ") + kEvilJson + "  " + kEvilJson + "\n"));
  EXPECT_THAT(Text(writer->path().text(), true),
              HasSubstr(std::string("\"tag\":") + kEvilJson + ",\"value\":" + kEvilJson + "}\n"));
}

TEST_F(InspectTest, RecordsBesideACheckpointAreNotItsData) {
  WriteCheckpoint();
  const std::string path = prefix_ + ".data-copy";
  const std::unique_ptr<RecordWriter> writer = *RecordWriter::Create(path);
  ASSERT_TRUE(writer->Write("").ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_THAT(Text(path, false), StartsWith("TFRecord file " + path + "\n"));
}

TEST_F(InspectTest, NamesOfRecordsAreEscaped) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features[kEvil].mutable_int64_list()->add_value(3);
  features["f\xC3\xBCr"].mutable_int64_list()->add_value(3);
  const std::string path = dir_.Path("data\n.tfrecord");
  const std::unique_ptr<RecordWriter> writer = *RecordWriter::Create(path, Compression::kNone);
  ASSERT_TRUE(writer->Write(example.SerializeAsString()).ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_THAT(Text(path, false), StartsWith("TFRecord file " + dir_.Path("data\\n.tfrecord\n")));
  EXPECT_THAT(Text(path, false),
              HasSubstr(std::string("  f\xC3\xBCr=int64[1] ") + kEvilJson + "=int64[1]\n"));
  EXPECT_THAT(Text(path, true), HasSubstr(std::string("{\"f\xC3\xBCr\":\"int64[1]\",") + kEvilJson +
                                          ":\"int64[1]\"}"));
}

TEST_F(InspectTest, DamageEndsTheListWithItsPlace) {
  WriteCheckpoint();
  std::string data = *ReadFile(prefix_ + ".data-00000-of-00001");
  data[9] ^= 1;
  std::ofstream(prefix_ + ".data-00000-of-00001", std::ios::binary) << data;
  std::ostringstream out;
  const absl::Status status = Inspect(prefix_, true, out);
  EXPECT_EQ(ExitCode(status), 65);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensor \"global_step\" of " + prefix_));
  EXPECT_THAT(out.str(), HasSubstr("dense/kernel"));

  const std::string path = WriteEvents();
  const std::string events = *ReadFile(path);
  std::ofstream(path, std::ios::binary) << events.substr(0, events.size() - 3);
  std::ostringstream events_out;
  const absl::Status cut = Inspect(path, true, events_out);
  EXPECT_EQ(ExitCode(cut), 65);
  EXPECT_THAT(std::string(cut.message()), HasSubstr("record 3 of " + path + ": truncated"));
  EXPECT_THAT(events_out.str(), HasSubstr("graph_def"));
}

TEST_F(InspectTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(dir_.Path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(dir_.Path("events.out.tfevents.1.host").c_str(), 0600), 0);
  ASSERT_EQ(symlink("loop", dir_.Path("loop").c_str()), 0);
  const std::string wanted = ": it is a device or a pipe, want a regular file";
  for (const auto& [path, reason] : std::map<std::string, std::string>{
           {dir_.Path("pipe"), wanted},
           {"/dev/zero", wanted},
           {dir_.Path("events.out.tfevents.1.host"), wanted},
           {dir_.Path("loop"), ": Too many levels of symbolic links"}}) {
    std::ostringstream out;
    const absl::Status status = Inspect(path, false, out);
    EXPECT_EQ(ExitCode(status), 66);
    EXPECT_EQ(status.message(), "cannot read " + path + reason);
    EXPECT_EQ(out.str(), "");
  }
}

TEST_F(InspectTest, WhatIsNotThereIsNotFound) {
  std::ostringstream out;
  const absl::Status nothing = Inspect(dir_.path(), false, out);
  EXPECT_EQ(ExitCode(nothing), 66);
  EXPECT_THAT(std::string(nothing.message()), HasSubstr("nothing to inspect in " + dir_.path()));
  const absl::Status absent = Inspect(dir_.Path("x"), false, out);
  EXPECT_EQ(ExitCode(absent), 66);
  EXPECT_THAT(std::string(absent.message()), HasSubstr("cannot read " + dir_.Path("x")));
  std::ofstream(dir_.Path("text")) << "not a file of records";
  const absl::Status other = Inspect(dir_.Path("text"), false, out);
  EXPECT_EQ(ExitCode(other), 65);
  EXPECT_THAT(std::string(other.message()), HasSubstr("not a TFRecord file"));
}

}  // namespace
}  // namespace tpurun
