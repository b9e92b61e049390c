// `inspect` of SavedModels and ONNX files; tests/interop compares it with TensorFlow and onnx.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "cli/inspect.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"
#include "proto/saved_model.pb.h"
#include "proto/serialize.h"
#include "proto/trackable_object_graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class InspectModelsTest : public ::testing::Test {
 protected:
  InspectModelsTest() : pb_(dir_.Path("saved_model.pb")), onnx_(dir_.Path("a.onnx")) {}

  static void WriteBytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  absl::Status Run(const std::string& path, bool json = true) {
    std::ostringstream out;
    const absl::Status status = Inspect(path, json, out);
    out_ = out.str();
    return status;
  }
  std::string Text(const std::string& path, bool json) {
    const absl::Status status = Run(path, json);
    EXPECT_TRUE(status.ok()) << status;
    return out_;
  }
  std::string ErrorOf(const std::string& path) {
    const absl::Status status = Run(path);
    EXPECT_EQ(ExitCode(status), 65) << status;
    return std::string(status.message());
  }
  // No place of a damaged file does more than change the answer.
  void ExpectDamageToEndInAStatus(const std::string& path, const std::string& bytes) {
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      std::string flipped = bytes;
      flipped[byte] ^= 1 << (byte % 8);
      for (const std::string& damaged : {flipped, bytes.substr(0, byte)}) {
        WriteBytes(path, damaged);
        EXPECT_THAT(ExitCode(Run(path, byte % 2 == 0)), AnyOf(0, 65)) << "at byte " << byte;
      }
    }
    WriteBytes(path, bytes);
  }

  const TempDir dir_;
  const std::string pb_, onnx_;
  std::string out_;  // of the last Run
};

// ---- SavedModel ----

void SetInfo(const std::string& tensor, tensorflow::DataType dtype, std::vector<int64_t> shape,
             tensorflow::TensorInfo& info) {
  info.set_name(tensor);
  info.set_dtype(dtype);
  info.mutable_tensor_shape();
  for (const int64_t size : shape) info.mutable_tensor_shape()->add_dim()->set_size(size);
}

tensorflow::NodeDef& AddHandle(const std::string& name, tensorflow::GraphDef& graph) {
  tensorflow::NodeDef& node = *graph.add_node();
  node.set_name(name);
  node.set_op("VarHandleOp");
  (*node.mutable_attr())["dtype"].set_type(tensorflow::DT_HALF);
  (*node.mutable_attr())["shape"].mutable_shape()->add_dim()->set_size(3);
  return node;
}

tensorflow::SavedModel SmallSavedModel() {
  tensorflow::SavedModel model;
  model.set_saved_model_schema_version(1);
  tensorflow::MetaGraphDef& meta = *model.add_meta_graphs();
  meta.mutable_meta_info_def()->add_tags("serve");
  meta.mutable_meta_info_def()->set_tensorflow_version("1.15.0");
  AddHandle("w", *meta.mutable_graph_def());
  meta.mutable_graph_def()->mutable_library()->add_function()->add_node_def()->set_op("MatMul");
  tensorflow::SignatureDef& signature = (*meta.mutable_signature_def())["serving_default"];
  signature.set_method_name("tensorflow/serving/predict");
  SetInfo("x:0", tensorflow::DT_FLOAT, {-1, 4}, (*signature.mutable_inputs())["x"]);
  SetInfo("z:0", static_cast<tensorflow::DataType>(99), {},
          (*signature.mutable_outputs())["unknown"]);
  SetInfo("y:0", tensorflow::DT_STRING, {}, (*signature.mutable_outputs())["y"]);
  (*signature.mutable_outputs())["y"].mutable_tensor_shape()->set_unknown_rank(true);
  return model;
}

// w f16[3] and global_step 5, beside saved_model.pb.
void WriteVariables(const std::string& dir) {
  const std::unique_ptr<BundleWriter> writer = *BundleWriter::Create(dir + "/variables/variables");
  ASSERT_TRUE(
      writer->Add("global_step", tensorflow::DT_INT64, {}, std::string("\x05\0\0\0\0\0\0\0", 8))
          .ok());
  ASSERT_TRUE(writer->Add("w", tensorflow::DT_HALF, {3}, "abcdef").ok());
  ASSERT_TRUE(writer->Finish().ok());
}

TEST_F(InspectModelsTest, ListsASavedModelHoweverItIsNamed) {
  WriteBytes(pb_, SerializeDeterministically(SmallSavedModel()));
  WriteVariables(dir_.path());
  const std::string text = "SavedModel " + pb_ + ": 1 meta graph\n" +
                           "meta graph serve: TensorFlow 1.15.0, 1 nodes and 1 in 1 functions\n"
                           "signature serving_default: tensorflow/serving/predict\n"
                           "kind    name     dtype     shape   tensor\n"
                           "input   x        float32   [-1,4]  x:0\n"
                           "output  unknown  dtype 99  []      z:0\n"
                           "output  y        string    -       y:0\n"
                           "op           count\n"
                           "MatMul           1\n"
                           "VarHandleOp      1\n"
                           "name         dtype    shape  bytes  value\n"
                           "global_step  int64    []         8  5\n"
                           "w            float16  [3]        6\n"
                           "total: 2 variables, 3 parameters, 14 bytes, global_step 5\n";
  EXPECT_EQ(Text(dir_.path(), false), text);
  EXPECT_EQ(Text(pb_, false), text);
  EXPECT_EQ(
      Text(dir_.path(), true),
      "{\"kind\":\"meta_graph\",\"tags\":[\"serve\"],\"tensorflow_version\":\"1.15.0\","
      "\"nodes\":1,\"functions\":1,\"function_nodes\":1}\n"
      "{\"kind\":\"signature\",\"tags\":[\"serve\"],\"signature\":\"serving_default\","
      "\"method\":\"tensorflow/serving/predict\"}\n"
      "{\"kind\":\"input\",\"tags\":[\"serve\"],\"signature\":\"serving_default\",\"name\":\"x\","
      "\"dtype\":\"float32\",\"shape\":[-1,4],\"tensor\":\"x:0\"}\n"
      "{\"kind\":\"output\",\"tags\":[\"serve\"],\"signature\":\"serving_default\","
      "\"name\":\"unknown\",\"dtype\":\"dtype 99\",\"shape\":[],\"tensor\":\"z:0\"}\n"
      "{\"kind\":\"output\",\"tags\":[\"serve\"],\"signature\":\"serving_default\",\"name\":\"y\","
      "\"dtype\":\"string\",\"shape\":null,\"tensor\":\"y:0\"}\n"
      "{\"kind\":\"op\",\"tags\":[\"serve\"],\"op\":\"MatMul\",\"count\":1}\n"
      "{\"kind\":\"op\",\"tags\":[\"serve\"],\"op\":\"VarHandleOp\",\"count\":1}\n"
      "{\"kind\":\"variable\",\"name\":\"global_step\",\"dtype\":\"int64\",\"shape\":[],"
      "\"bytes\":8,\"value\":5}\n"
      "{\"kind\":\"variable\",\"name\":\"w\",\"dtype\":\"float16\",\"shape\":[3],\"bytes\":6}\n"
      "{\"kind\":\"model\",\"format\":\"saved_model\",\"schema_version\":1,\"meta_graphs\":1,"
      "\"variables\":2,\"parameters\":3,\"bytes\":14,\"global_step\":5,"
      "\"unsaved_variables\":0}\n");
  const std::string other = dir_.Path("other");
  std::filesystem::copy_file(pb_, other);
  EXPECT_THAT(Text(other, false), StartsWith("SavedModel " + other + ": 1 meta graph\n"));
}

TEST_F(InspectModelsTest, VariablesThatAreNotSavedHaveNoBytes) {
  WriteBytes(pb_, SerializeDeterministically(SmallSavedModel()));
  EXPECT_THAT(Text(pb_, false),
              EndsWith("name  dtype    shape  bytes\n"
                       "w     float16  [3]        -\n"
                       "total: 0 variables, 0 parameters, 0 bytes, 1 variables unsaved\n"));
  EXPECT_THAT(Text(pb_, true),
              HasSubstr("{\"kind\":\"variable\",\"name\":\"w\",\"dtype\":\"float16\","
                        "\"shape\":[3],\"bytes\":null}\n"));
}

TEST_F(InspectModelsTest, PartsOfAPartitionedVariableAreSavedInTheWhole) {
  tensorflow::SavedModel model = SmallSavedModel();
  tensorflow::MetaGraphDef& meta = *model.mutable_meta_graphs(0);
  meta.mutable_graph_def()->mutable_node(0)->set_name("w/part_0");
  WriteBytes(pb_, SerializeDeterministically(model));
  WriteVariables(dir_.path());
  EXPECT_THAT(Text(pb_, true), HasSubstr("\"unsaved_variables\":1"));
  tensorflow::VariableDef def;
  def.set_variable_name("w/part_0:0");
  def.mutable_save_slice_info_def()->set_full_name("w");
  (*meta.mutable_collection_def())["variables"].mutable_bytes_list()->add_value(
      def.SerializeAsString());
  WriteBytes(pb_, SerializeDeterministically(model));
  EXPECT_THAT(Text(pb_, true), HasSubstr("\"unsaved_variables\":0"));
}

TEST_F(InspectModelsTest, VariablesOfAnObjectGraphHaveTheirOwnNames) {
  WriteBytes(pb_, SerializeDeterministically(SmallSavedModel()));
  tensorflow::TrackableObjectGraph objects;
  auto& tensor = *objects.add_nodes()->add_attributes();
  tensor.set_full_name("global_step");
  tensor.set_checkpoint_key("step/VALUE");
  const auto write = [&](const std::string& graph) {
    const std::unique_ptr<BundleWriter> writer =
        *BundleWriter::Create(dir_.Path("variables/variables"));
    ASSERT_TRUE(writer->AddStrings("_CHECKPOINTABLE_OBJECT_GRAPH", {}, {graph}).ok());
    ASSERT_TRUE(
        writer->Add("step/VALUE", tensorflow::DT_INT64, {}, std::string("\x05\0\0\0\0\0\0\0", 8))
            .ok());
    ASSERT_TRUE(writer->Finish().ok());
  };
  write(objects.SerializeAsString());
  EXPECT_THAT(Text(pb_, false),
              EndsWith("name         dtype  shape  bytes  checkpoint_key  value\n"
                       "global_step  int64  []         8  step/VALUE      5\n"
                       "total: 1 variables, 0 parameters, 8 bytes, global_step 5\n"));
  write("\xff");
  EXPECT_THAT(ErrorOf(pb_), HasSubstr("it is no object graph; save the model again"));
}

TEST_F(InspectModelsTest, ADamagedSavedModelIsDataLoss) {
  WriteVariables(dir_.path());
  const std::string bytes = SerializeDeterministically(SmallSavedModel());
  ExpectDamageToEndInAStatus(pb_, bytes);
  WriteBytes(pb_, bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(ErrorOf(pb_), pb_ + ": no SavedModel, or a damaged one: its " +
                              std::to_string(bytes.size() / 2) +
                              " bytes are no such message; export or copy it again");
  WriteBytes(pb_, "");
  EXPECT_EQ(ErrorOf(dir_.path()),
            pb_ + ": got a SavedModel without a meta graph, want at least one; export it again");

  // What stands before damaged variables is shown.
  WriteBytes(pb_, bytes);
  const std::string data = dir_.Path("variables/variables.data-00000-of-00001");
  WriteBytes(data, "0123456789abcd");
  EXPECT_THAT(ErrorOf(pb_), HasSubstr("tensor \"global_step\" of " + data + ": checksum"));
  EXPECT_THAT(out_, HasSubstr("\"count\":1}"));
  EXPECT_THAT(out_, Not(HasSubstr("\"kind\":\"variable\"")));
  ASSERT_EQ(truncate(data.c_str(), 3), 0);
  EXPECT_THAT(ErrorOf(pb_), HasSubstr("data file is truncated"));
}

TEST_F(InspectModelsTest, MoreThanAMessageHoldsIsRefusedUnread) {
  for (const std::string& path : {pb_, onnx_}) {
    WriteBytes(path, "");
    ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 31), 0);
    EXPECT_THAT(ErrorOf(path), HasSubstr(" of 2147483648 bytes, want at most 2147483647; keep its "
                                         "large values in other files"));
  }
}

TEST_F(InspectModelsTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(pb_.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(onnx_.c_str(), 0600), 0);
  for (const std::string& path : {pb_, onnx_}) {
    const absl::Status status = Run(path);
    EXPECT_EQ(ExitCode(status), 66);
    EXPECT_EQ(status.message(),
              "cannot read " + path + ": it is a device or a pipe, want a regular file");
  }
}

// ---- ONNX ----

onnx::ValueInfoProto& SetFloat(const std::string& name, onnx::ValueInfoProto& info) {
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return info;
}

onnx::TensorProto& AddInitializer(const std::string& name, int type, std::vector<int64_t> dims,
                                  onnx::GraphProto& graph) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t size : dims) tensor.add_dims(size);
  return tensor;
}

onnx::ModelProto SmallOnnx() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("me");
  model.set_producer_version("1.2");
  model.add_opset_import()->set_version(17);
  auto& metadata = *model.add_metadata_props();
  metadata.set_key("classes");
  metadata.set_value("[\"0\"]");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  auto& shape = *SetFloat("x", *graph.add_input()).mutable_type()->mutable_tensor_type();
  shape.mutable_shape()->add_dim()->set_dim_param("batch");
  shape.mutable_shape()->add_dim();
  shape.mutable_shape()->add_dim()->set_dim_value(4);
  SetFloat("y", *graph.add_output());
  onnx::ValueInfoProto& pairs = *graph.add_output();
  pairs.set_name("pairs");
  auto& map =
      *pairs.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
  map.set_key_type(onnx::TensorProto::INT64);
  map.mutable_value_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::DOUBLE);
  AddInitializer("raw", onnx::TensorProto::FLOAT, {2}, graph).set_raw_data("12345678");
  AddInitializer("typed", onnx::TensorProto::INT64, {1}, graph).add_int64_data(3);
  AddInitializer("elsewhere", onnx::TensorProto::FLOAT16, {1000, 1000}, graph)
      .set_data_location(onnx::TensorProto::EXTERNAL);
  AddInitializer("odd", onnx::TensorProto::INT4, {3}, graph).add_int32_data(0x21);
  AddInitializer("later", 77, {5}, graph);
  AddInitializer("words", onnx::TensorProto::STRING, {2}, graph).add_string_data("abc");
  onnx::NodeProto& branch = *graph.add_node();
  branch.set_op_type("If");
  branch.add_attribute()->mutable_g()->add_node()->set_op_type("Relu");
  onnx::NodeProto& gelu = *model.add_functions()->add_node();
  gelu.set_op_type("Gelu");
  gelu.set_domain("com.microsoft");
  return model;
}

TEST_F(InspectModelsTest, ListsAnOnnxFileHoweverItIsNamed) {
  const std::string bytes = SerializeDeterministically(SmallOnnx());
  const std::string in_dir = dir_.Path("model.onnx"), other = dir_.Path("other");
  const std::string text =
      ": IR version 8, opset ai.onnx 17, producer me 1.2\n"
      "kind      key      value\n"
      "metadata  classes  [\"0\"]\n"
      "kind    name   dtype                    shape\n"
      "input   x      float32                  [batch,-1,4]\n"
      "output  y      float32                  -\n"
      "output  pairs  seq(map(int64,float64))  -\n"
      "kind         name       dtype     shape          bytes\n"
      "initializer  raw        float32   [2]                8\n"
      "initializer  typed      int64     [1]                8\n"
      "initializer  elsewhere  float16   [1000,1000]  2000000\n"
      "initializer  odd        int4      [3]                2\n"
      "initializer  later      dtype 77  [5]                -\n"
      "initializer  words      string    [2]                3\n"
      "op                  count\n"
      "If                      1\n"
      "Relu                    1\n"
      "com.microsoft.Gelu      1\n"
      "total: 6 initializers, 1000010 parameters, 2000021 bytes, 3 nodes\n";
  for (const std::string& path : {in_dir, onnx_, other}) {
    WriteBytes(path, bytes);
    EXPECT_EQ(Text(path, false), "ONNX file " + path + text);
  }
  EXPECT_EQ(Text(dir_.path(), false), "ONNX file " + in_dir + text);
  const std::string json = Text(onnx_, true);
  for (const std::string line :
       {"{\"kind\":\"opset\",\"domain\":\"ai.onnx\",\"version\":17}",
        "{\"kind\":\"metadata\",\"key\":\"classes\",\"value\":\"[\\\"0\\\"]\"}",
        "{\"kind\":\"input\",\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"batch\",-1,4]}",
        "{\"kind\":\"output\",\"name\":\"y\",\"dtype\":\"float32\",\"shape\":null}",
        "{\"kind\":\"initializer\",\"name\":\"raw\",\"dtype\":\"float32\",\"shape\":[2],"
        "\"bytes\":8}",
        "{\"kind\":\"initializer\",\"name\":\"later\",\"dtype\":\"dtype 77\",\"shape\":[5],"
        "\"bytes\":null}",
        "{\"kind\":\"op\",\"op\":\"com.microsoft.Gelu\",\"count\":1}",
        "{\"kind\":\"model\",\"format\":\"onnx\",\"name\":\"g\",\"ir_version\":8,"
        "\"producer\":\"me\",\"producer_version\":\"1.2\",\"nodes\":3,\"initializers\":6,"
        "\"parameters\":1000010,\"bytes\":2000021}"}) {
    EXPECT_THAT(json, HasSubstr(line + "\n"));
  }
}

TEST_F(InspectModelsTest, SparseInitializersHaveTheBytesOfValuesAndIndices) {
  onnx::ModelProto model = SmallOnnx();
  onnx::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
  sparse.add_dims(10);
  sparse.mutable_values()->set_name("sparse");
  sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(2);
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(2);
  WriteBytes(onnx_, SerializeDeterministically(model));
  EXPECT_THAT(Text(onnx_, true), HasSubstr("{\"kind\":\"initializer\",\"name\":\"sparse\","
                                           "\"dtype\":\"float32\",\"shape\":[10],\"bytes\":24}\n"));
}

TEST_F(InspectModelsTest, ADamagedOnnxFileIsDataLoss) {
  const std::string bytes = SerializeDeterministically(SmallOnnx());
  ExpectDamageToEndInAStatus(onnx_, bytes);
  WriteBytes(onnx_, bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(ErrorOf(onnx_), StartsWith(onnx_ + ": no ONNX file, or a damaged one: its "));
  const auto without = [&](const std::function<void(onnx::ModelProto&)>& remove) {
    onnx::ModelProto model = SmallOnnx();
    remove(model);
    WriteBytes(onnx_, SerializeDeterministically(model));
    return ErrorOf(onnx_);
  };
  const std::string begin = onnx_ + ": no ONNX file, or a truncated one: it has no ";
  EXPECT_THAT(without([](auto& model) { model.clear_ir_version(); }),
              StartsWith(begin + "IR version;"));
  EXPECT_THAT(without([](auto& model) { model.clear_graph(); }), StartsWith(begin + "graph;"));
  EXPECT_THAT(without([](auto& model) { model.clear_opset_import(); }),
              StartsWith(begin + "opset;"));
}

TEST_F(InspectModelsTest, AnInitializerThatDoesNotFitItsShapeIsDataLoss) {
  const auto with = [&](std::vector<int64_t> dims) {
    onnx::ModelProto model = SmallOnnx();
    AddInitializer("bad", onnx::TensorProto::FLOAT, dims, *model.mutable_graph())
        .set_raw_data("123");
    WriteBytes(onnx_, SerializeDeterministically(model));
    const std::string error = ErrorOf(onnx_);
    EXPECT_THAT(out_, HasSubstr("\"name\":\"words\"")) << "those before it are shown";
    return error;
  };
  const std::string place = onnx_ + ": initializer \"bad\": ";
  EXPECT_EQ(with({2, 2}), place + "got 3 bytes, want 16 for float32 [2,2]");
  EXPECT_EQ(with({-1}), place + "bad shape [-1]");
  EXPECT_EQ(with({1 << 30, 1 << 30, 1 << 30}),
            place + "bad shape [1073741824,1073741824,1073741824]");
  EXPECT_EQ(with({1 << 30, 1 << 30}), place + "bad shape [1073741824,1073741824]");
}

TEST_F(InspectModelsTest, NamesAreEscaped) {
  constexpr char kEvilName[] = "zz\n\x1b[2J\xff";
  onnx::ModelProto model = SmallOnnx();
  model.set_producer_name(kEvilName);
  model.mutable_graph()->mutable_input(0)->set_name(kEvilName);
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param(kEvilName);
  model.mutable_graph()->mutable_initializer(0)->set_name(kEvilName);
  model.mutable_graph()->mutable_node(0)->set_op_type(kEvilName);
  WriteBytes(onnx_, SerializeDeterministically(model));
  for (const bool json : {false, true}) {
    EXPECT_THAT(Text(onnx_, json), Not(HasSubstr("\x1b")));
    EXPECT_THAT(Text(onnx_, json), Not(HasSubstr("\xff")));
  }
}

}  // namespace
}  // namespace tpurun
