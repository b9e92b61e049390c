#include "runtime/checkpoint/object_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "proto/trackable_object_graph.pb.h"
#include "runtime/io/object_graph.h"
#include "tests/io/temp_dir.h"

namespace tpurun {
namespace {

using Dims = std::vector<int64_t>;

struct SavedVariable {
  std::string path;
  std::string full_name;
  Dims dims;
};

// A dense layer at `path`, "NAME/kernel" by its full name.
std::vector<SavedVariable> Dense(const std::string& path, const std::string& name, int64_t in,
                                 int64_t units) {
  return {{path + "/bias", name + "/bias", {units}},
          {path + "/kernel", name + "/kernel", {in, units}}};
}

std::vector<ModelVariable> Dense(const std::string& name, int64_t in, int64_t units,
                                 bool wanted = true) {
  return {{name + "/kernel", {in, units}, wanted}, {name + "/bias", {units}, wanted}};
}

template <typename T>
std::vector<T> All(const std::vector<std::vector<T>>& layers) {
  std::vector<T> all;
  for (const auto& layer : layers) all.insert(all.end(), layer.begin(), layer.end());
  return all;
}

class ObjectVariablesTest : public ::testing::Test {
 protected:
  // `numbers_layers`: as a functional model of Keras does.
  void Save(const std::vector<SavedVariable>& variables, bool numbers_layers = false) {
    std::map<std::string, SavedVariable> sorted;
    tensorflow::TrackableObjectGraph objects;
    if (numbers_layers) {
      objects.add_nodes()->add_children()->set_local_name("layer_with_weights-0");
    }
    for (const SavedVariable& variable : variables) {
      const std::string key = variable.path + kVariableValue;
      sorted[key] = variable;
      auto* const attribute = objects.add_nodes()->add_attributes();
      attribute->set_name("VARIABLE_VALUE");
      attribute->set_full_name(variable.full_name);
      attribute->set_checkpoint_key(key);
    }
    const auto writer = BundleWriter::Create(dir_.Path("w"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->AddStrings(kObjectGraph, {}, {objects.SerializeAsString()}).ok());
    for (const auto& [key, variable] : sorted) {
      const std::string bytes(4 * NumElements(variable.dims).value(), '\0');
      ASSERT_TRUE((*writer)->Add(key, tensorflow::DT_FLOAT, variable.dims, bytes).ok());
    }
    ASSERT_TRUE((*writer)->Finish().ok());
    auto reader = BundleReader::Open(dir_.Path("w"));
    ASSERT_TRUE(reader.ok());
    reader_ = *std::move(reader);
  }

  // "a/bias=x/bias a/kernel=x/kernel", what is left behind a |; or what is open.
  std::string Matched(const std::vector<ModelVariable>& model,
                      const std::vector<std::string>& taken = {}) {
    const auto match = MatchObjects(model, *reader_, taken);
    if (!match.ok()) {
      const std::string message(match.status().message());
      const size_t begin = message.find("is meant: ") + 10;
      return message.substr(begin, message.find(", or leave them out") - begin);
    }
    std::string text = absl::StrJoin(match->keys, " ", absl::PairFormatter("="));
    if (!match->left.empty()) absl::StrAppend(&text, " | ", absl::StrJoin(match->left, " "));
    return absl::StrReplaceAll(text, {{kVariableValue, ""}});
  }

  const TempDir dir_;
  std::unique_ptr<BundleReader> reader_;
};

TEST_F(ObjectVariablesTest, FullNamesDecideWhateverTheOrder) {
  Save(All<SavedVariable>(
      {Dense("layer_with_weights-0", "b", 4, 4), Dense("layer_with_weights-1", "net/a", 4, 4)}));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("a", 4, 4), Dense("b", 4, 4)})),
            "a/bias=layer_with_weights-1/bias a/kernel=layer_with_weights-1/kernel "
            "b/bias=layer_with_weights-0/bias b/kernel=layer_with_weights-0/kernel");
}

// Names that Keras counts up fit by chance.
TEST_F(ObjectVariablesTest, NamesThatAreNotAllThereDoNotDecide) {
  Save(All<SavedVariable>({Dense("layer_with_weights-0", "dense_1", 4, 4),
                           Dense("layer_with_weights-1", "dense_2", 4, 4)}));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("dense", 4, 4), Dense("dense_1", 4, 4)})),
            "dense/bias=layer_with_weights-0/bias dense/kernel=layer_with_weights-0/kernel "
            "dense_1/bias=layer_with_weights-1/bias dense_1/kernel=layer_with_weights-1/kernel");
}

TEST_F(ObjectVariablesTest, ShapesDecideWhateverTheOrder) {
  Save(All<SavedVariable>({Dense("b", "", 10, 3), Dense("a", "", 4, 10)}));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("hidden", 4, 10), Dense("logits", 10, 3)})),
            "hidden/bias=a/bias hidden/kernel=a/kernel logits/bias=b/bias logits/kernel=b/kernel");
}

TEST_F(ObjectVariablesTest, TheOrderOfNumberedLayersDecidesAmongThoseOfOneShape) {
  // 10 comes after 2, and what is in a layer at its place.
  Save(All<SavedVariable>({Dense("model/layer_with_weights-10", "", 4, 4),
                           Dense("model/layer_with_weights-2", "", 4, 4),
                           Dense("model/layer_with_weights-3/layer-0", "", 4, 4),
                           {{"model/layer_with_weights-4/gamma", "", {4}}}}));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("a", 4, 4), Dense("b", 4, 4), Dense("c", 4, 4)})),
            "a/bias=model/layer_with_weights-2/bias a/kernel=model/layer_with_weights-2/kernel "
            "b/bias=model/layer_with_weights-3/layer-0/bias "
            "b/kernel=model/layer_with_weights-3/layer-0/kernel "
            "c/bias=model/layer_with_weights-10/bias c/kernel=model/layer_with_weights-10/kernel | "
            "model/layer_with_weights-4/gamma");
}

// Keras' Bidirectional keeps the layer that goes backwards as another one.
TEST_F(ObjectVariablesTest, TheForwardLayerIsTheFirstOfABidirectional) {
  Save(All<SavedVariable>({Dense("model/layer_with_weights-1/backward_layer/cell", "", 4, 4),
                           Dense("model/layer_with_weights-1/forward_layer/cell", "", 4, 4)}));
  EXPECT_EQ(
      Matched(All<ModelVariable>({Dense("bi/forward_rnn", 4, 4), Dense("bi/backward_rnn", 4, 4)})),
      "bi/backward_rnn/bias=model/layer_with_weights-1/backward_layer/cell/bias "
      "bi/backward_rnn/kernel=model/layer_with_weights-1/backward_layer/cell/kernel "
      "bi/forward_rnn/bias=model/layer_with_weights-1/forward_layer/cell/bias "
      "bi/forward_rnn/kernel=model/layer_with_weights-1/forward_layer/cell/kernel");
}

TEST_F(ObjectVariablesTest, OneOfSeveralIsLeftOpen) {
  Save(All<SavedVariable>(
      {Dense("layer_with_weights-0", "", 4, 4), Dense("layer_with_weights-1", "", 4, 4)}));
  EXPECT_EQ(
      Matched(Dense("a", 4, 4)),
      "\"a/bias\" [4]: \"layer_with_weights-0/bias\" or \"layer_with_weights-1/bias\"; "
      "\"a/kernel\" [4,4]: \"layer_with_weights-0/kernel\" or \"layer_with_weights-1/kernel\"; "
      "say it with var_name_to_prev_var_name { key: \"a/bias\" value: "
      "\"layer_with_weights-0/bias\" }");
  EXPECT_EQ(
      Matched(Dense("a", 4, 4), {absl::StrCat("layer_with_weights-0/bias", kVariableValue),
                                 absl::StrCat("layer_with_weights-0/kernel", kVariableValue)}),
      "a/bias=layer_with_weights-1/bias a/kernel=layer_with_weights-1/kernel");
}

// Attributes of a class have no order that says how they are called.
TEST_F(ObjectVariablesTest, LayersWithoutNumbersHaveNoOrder) {
  Save(All<SavedVariable>({Dense("first", "", 4, 4), Dense("second", "", 4, 4)}));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("a", 4, 4), Dense("b", 4, 4)})).substr(0, 43),
            "\"a/bias\" [4]: \"first/bias\" or \"second/bias\"");
}

TEST_F(ObjectVariablesTest, ALayerOfOtherShapesIsNone) {
  Save(Dense("layer_with_weights-0", "", 4, 10));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("hidden", 4, 10), Dense("logits", 10, 7)})),
            "\"logits/bias\" [7]: no layer of these shapes; \"logits/kernel\" [10,7]: no layer of "
            "these shapes; say it with var_name_to_prev_var_name { key: \"logits/bias\" value: "
            "\"NAME\" }");
}

// What is not wanted says which of several is.
TEST_F(ObjectVariablesTest, TheWholeModelDecidesForAPartOfIt) {
  Save(All<SavedVariable>(
      {Dense("layer_with_weights-0", "", 4, 4), Dense("layer_with_weights-1", "", 4, 4)}));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("a", 4, 4, false), Dense("b", 4, 4)})),
            "b/bias=layer_with_weights-1/bias b/kernel=layer_with_weights-1/kernel | "
            "layer_with_weights-0/bias layer_with_weights-0/kernel");
}

TEST_F(ObjectVariablesTest, ANewHeadThatIsNotWantedDoesNoHarm) {
  Save(All<SavedVariable>(
      {Dense("layer_with_weights-0", "", 4, 10), Dense("layer_with_weights-1", "", 10, 3)}));
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("hidden", 4, 10), Dense("logits", 10, 7, false)})),
            "hidden/bias=layer_with_weights-0/bias hidden/kernel=layer_with_weights-0/kernel | "
            "layer_with_weights-1/bias layer_with_weights-1/kernel");
}

TEST_F(ObjectVariablesTest, SlotsAndMetricsAreNoLayers) {
  Save({{"layer_with_weights-0/kernel", "dense/kernel", {4, 4}},
        {"layer_with_weights-0/kernel/.OPTIMIZER_SLOT/optimizer/m", "", {4, 4}},
        {"optimizer/_variables/1", "Adam/m/dense/kernel", {4, 4}},
        {"model/optimizer/kernel", "", {4, 4}},
        {"opt/_iterations", "iteration", {}},
        {"opt/_variables/1", "Adam/m/dense/kernel", {4, 4}},
        {"keras_api/metrics/0/kernel", "", {4, 4}}});
  EXPECT_EQ(Matched({{"a/kernel", {4, 4}}}), "a/kernel=layer_with_weights-0/kernel");
}

// Of which the order is that of the layers only where the model numbers those.
TEST_F(ObjectVariablesTest, OfAListTheFullNamesSayWhatIsOneLayer) {
  const std::vector<SavedVariable> list = {{"variables/0", "dense/kernel", {4, 4}},
                                           {"variables/1", "dense/bias", {4}},
                                           {"variables/10", "dense_1/kernel", {4, 4}},
                                           {"variables/2", "dense_1/bias", {4}}};
  Save(list);
  EXPECT_THAT(Matched(All<ModelVariable>({Dense("a", 4, 4), Dense("b", 4, 4)})),
              testing::HasSubstr("\"a/kernel\" [4,4]: \"variables/0\" or \"variables/10\""));
  Save(list, /*numbers_layers=*/true);
  EXPECT_EQ(Matched(All<ModelVariable>({Dense("a", 4, 4), Dense("b", 4, 4)})),
            "a/bias=variables/1 a/kernel=variables/0 b/bias=variables/2 b/kernel=variables/10");
}

TEST_F(ObjectVariablesTest, AKeyMayBeCalledWithoutItsEndOrByTheFullName) {
  Save({{"layer/kernel", "net/kernel", {4}}, {"a", "same", {1}}, {"b", "same", {1}}});
  const std::string key = absl::StrCat("layer/kernel", kVariableValue);
  EXPECT_EQ(ObjectKey(*reader_, key).value(), key);
  EXPECT_EQ(ObjectKey(*reader_, "layer/kernel").value(), key);
  EXPECT_EQ(ObjectKey(*reader_, "net/kernel").value(), key);
  EXPECT_EQ(ObjectKey(*reader_, "same").value(), "same");
  EXPECT_EQ(ObjectKey(*reader_, "none").value(), "none");
}

}  // namespace
}  // namespace tpurun
