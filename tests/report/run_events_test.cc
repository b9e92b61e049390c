#include "runtime/report/run_events.h"

#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/hparams.pb.h"
#include "tests/io/temp_dir.h"
#include "tests/report/event_files.h"

namespace tpurun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// What is read of the files, and nothing to warn of.
RunEvents Read(const std::vector<std::string>& files) {
  std::vector<std::string> warnings;
  RunEvents events = ReadRunEvents(files, &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  return events;
}

std::vector<std::pair<int64_t, double>> Points(const RunEvents& events, const std::string& tag) {
  std::vector<std::pair<int64_t, double>> points;
  for (const ScalarPoint& point : events.scalars.at(tag)) {
    points.emplace_back(point.step, point.value);
  }
  return points;
}

tensorflow::TensorProto FloatTensor(const std::vector<float>& values) {
  tensorflow::TensorProto tensor;
  tensor.set_dtype(tensorflow::DT_FLOAT);
  for (const float value : values) tensor.add_float_val(value);
  return tensor;
}

tensorflow::TensorProto StringTensor(const std::vector<std::string>& values) {
  tensorflow::TensorProto tensor;
  tensor.set_dtype(tensorflow::DT_STRING);
  for (const std::string& value : values) tensor.add_string_val(value);
  return tensor;
}

TEST(RunEvents, ARestartDropsWhatItRepeats) {
  const TempDir dir;
  std::vector<std::string> files;
  {
    TestEvents first(dir.path());
    first.Start(0).Scalar(1, "loss", 1).Scalar(10, "loss", 2).Scalar(20, "loss", 3);
    first.Scalar(30, "loss", 4).Scalar(30, "gone", 4);
    files.push_back(first.path());
  }
  {
    TestEvents second(dir.path());
    second.Start(20).Scalar(20, "loss", 5).Scalar(30, "loss", 6).Scalar(40, "loss", 7);
    files.push_back(second.path());
  }
  const RunEvents events = Read(files);
  EXPECT_THAT(Points(events, "loss"),
              ElementsAre(Pair(1, 1), Pair(10, 2), Pair(20, 5), Pair(30, 6), Pair(40, 7)));
  EXPECT_EQ(events.scalars.count("gone"), 0u);
  EXPECT_EQ(events.scalars.at("loss")[1].wall_time, kStartSeconds + 10);
}

TEST(RunEvents, TheFirstStartDropsNothing) {
  const TempDir dir;
  std::string path;
  {
    TestEvents writer(dir.path());
    writer.Scalar(10, "loss", 1).Start(0).Scalar(20, "loss", 2);
    path = writer.path();
  }
  EXPECT_THAT(Points(Read({path}), "loss"), ElementsAre(Pair(10, 1), Pair(20, 2)));
}

TEST(RunEvents, PointsAreInTheOrderOfTheirSteps) {
  const TempDir dir;
  std::string path;
  {
    TestEvents writer(dir.path());
    // An evaluation of an older checkpoint, and the same one again.
    writer.Scalar(200, "loss", 1).Scalar(100, "loss", 2).Scalar(100, "loss", 3);
    path = writer.path();
  }
  EXPECT_THAT(Points(Read({path}), "loss"), ElementsAre(Pair(100, 2), Pair(100, 3), Pair(200, 1)));
}

TEST(RunEvents, ACutFileGivesWhatIsWhole) {
  const TempDir dir;
  std::string path;
  {
    TestEvents writer(dir.path());
    writer.Scalar(1, "loss", 1).Scalar(2, "loss", 2);
    path = writer.path();
  }
  const std::string bytes = *ReadFile(path);
  for (size_t missing = 1; missing < 30; ++missing) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - missing);
    std::vector<std::string> warnings;
    const RunEvents events = ReadRunEvents({path, dir.Path("absent.tfevents")}, &warnings);
    EXPECT_THAT(Points(events, "loss"), ElementsAre(Pair(1, 1))) << missing;
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_THAT(warnings[0], HasSubstr("record 2 of " + path + ": truncated"));
    EXPECT_THAT(warnings[0], HasSubstr("; what stands before it is taken"));
    EXPECT_THAT(warnings[1], HasSubstr("absent.tfevents"));
  }
}

TEST(RunEvents, TensorsOfTensorFlow2AreScalars) {
  const TempDir dir;
  std::string path;
  {
    TestEvents writer(dir.path());
    tensorflow::TensorProto content;
    content.set_dtype(tensorflow::DT_FLOAT);
    content.set_tensor_content(std::string("\x00\x00\xc0\x3f", 4));  // 1.5
    tensorflow::TensorProto wide;
    wide.set_dtype(tensorflow::DT_DOUBLE);
    wide.add_double_val(0.1);
    tensorflow::TensorProto vector = FloatTensor({1, 2});
    vector.mutable_tensor_shape()->add_dim()->set_size(2);
    writer.Tensor(1, "a", "scalars", content).Tensor(2, "a", "scalars", wide);
    // The plugin may be named once a tag.
    writer.Tensor(3, "a", "", FloatTensor({7})).Tensor(4, "a", "scalars", FloatTensor({}));
    writer.Tensor(1, "b", "other", content).Tensor(1, "c", "scalars", vector);
    writer.Tensor(1, "d", "scalars", StringTensor({"x"}));
    path = writer.path();
  }
  const RunEvents events = Read({path});
  EXPECT_THAT(Points(events, "a"), ElementsAre(Pair(1, 1.5), Pair(2, 0.1), Pair(3, 7), Pair(4, 0)));
  EXPECT_EQ(events.scalars.size(), 1u);
}

TEST(RunEvents, TheLatestTextImageAndHistogramAreKept) {
  const TempDir dir;
  std::string path;
  {
    TestEvents writer(dir.path());
    tensorflow::TensorProto table = StringTensor({"a", "b", "1", "2"});
    table.mutable_tensor_shape()->add_dim()->set_size(2);
    table.mutable_tensor_shape()->add_dim()->set_size(2);
    writer.Tensor(1, "text", "text", StringTensor({"old"})).Tensor(2, "text", "text", table);
    writer.Tensor(2, "list", "text", StringTensor({"one", "two"}));
    tensorflow::Summary summary;
    summary.add_value()->set_tag("image");
    summary.mutable_value(0)->mutable_image()->set_encoded_image_string("\x89PNG...");
    summary.add_value()->set_tag("histogram");
    tensorflow::HistogramProto& histogram = *summary.mutable_value(1)->mutable_histo();
    histogram.set_min(-1);
    histogram.set_max(3);
    for (const double limit : {-2.0, 0.0, 1.0, 2.0, 1e308}) histogram.add_bucket_limit(limit);
    for (const double count : {0, 4, 0, 0, 5}) histogram.add_bucket(count);
    writer.Write(3, summary);
    writer.Tensor(4, "images", "images", StringTensor({"1", "1", "GIF89a"}));
    writer.Tensor(4, "unknown", "images", StringTensor({"1", "1", "??"}));
    writer.Tensor(5, "rows", "histograms", FloatTensor({0, 1, 6, 1, 4, 2}));
    path = writer.path();
  }
  const RunEvents events = Read({path});
  EXPECT_EQ(events.texts.at("text").markdown, "| a | b |\n|---|---|\n| 1 | 2 |\n");
  EXPECT_EQ(events.texts.at("text").step, 2);
  EXPECT_EQ(events.texts.at("list").markdown, "one\n\ntwo");
  EXPECT_EQ(events.images.at("image").media_type, "image/png");
  EXPECT_EQ(events.images.at("images").media_type, "image/gif");
  EXPECT_EQ(events.images.size(), 2u);
  // From the least to the greatest value, with the gap between.
  EXPECT_THAT(events.histograms.at("histogram").edges, ElementsAre(-1, 0, 2, 3));
  EXPECT_THAT(events.histograms.at("histogram").counts, ElementsAre(4, 0, 5));
  EXPECT_THAT(events.histograms.at("rows").edges, ElementsAre(0, 1, 4));
  EXPECT_THAT(events.histograms.at("rows").counts, ElementsAre(6, 2));
}

TEST(RunEvents, AMatrixForNoDashboardIsATable) {
  const TempDir dir;
  std::string path;
  {
    TestEvents writer(dir.path());
    tensorflow::Summary summary;
    AddArray("confusion", {2, 3}, {3, 0, 1, 0.5, 0, 12}, &summary);
    AddArray("vector", {2}, {3, 0}, &summary);
    AddArray("short", {2, 2}, {1, 2, 3}, &summary);
    writer.Write(5, summary);
    tensorflow::TensorProto tenth = FloatTensor({0.1f});
    tenth.mutable_tensor_shape()->add_dim()->set_size(1);
    tenth.mutable_tensor_shape()->add_dim()->set_size(1);
    writer.Tensor(6, "float", "", tenth).Tensor(6, "other", "pr_curves", tenth);
    path = writer.path();
  }
  const RunEvents events = Read({path});
  EXPECT_EQ(events.texts.size(), 2u);
  EXPECT_EQ(events.texts.at("confusion").markdown,
            "|  | 0 | 1 | 2 |\n|---|---|---|---|\n| 0 | 3 | 0 | 1 |\n| 1 | 0.5 | 0 | 12 |\n");
  EXPECT_EQ(events.texts.at("confusion").step, 5);
  EXPECT_EQ(events.texts.at("float").markdown, "|  | 0 |\n|---|---|\n| 0 | 0.1 |\n");
  EXPECT_TRUE(events.scalars.empty());
}

TEST(RunEvents, HyperparametersAreRead) {
  const TempDir dir;
  std::string path;
  {
    TestEvents writer(dir.path());
    tensorboard::hparams::HParamsPluginData data;
    auto& hparams = *data.mutable_session_start_info()->mutable_hparams();
    hparams["rate"].set_number_value(0.1);
    hparams["optimizer"].set_string_value("adam");
    hparams["dropout"].set_bool_value(true);
    tensorflow::Summary summary;
    summary.add_value()->set_tag("_hparams_/session_start_info");
    auto& plugin = *summary.mutable_value(0)->mutable_metadata()->mutable_plugin_data();
    plugin.set_plugin_name("hparams");
    plugin.set_content(data.SerializeAsString());
    writer.Write(0, summary);
    path = writer.path();
  }
  EXPECT_THAT(Read({path}).hparams,
              ElementsAre(Pair("dropout", "true"), Pair("optimizer", "adam"), Pair("rate", "0.1")));
}

}  // namespace
}  // namespace tpurun
