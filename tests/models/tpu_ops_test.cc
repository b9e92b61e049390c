#include "models/layers/tpu_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "models/layers/layer.h"
#include "runtime/base/text.h"
#include "runtime/ops/op_list.h"

namespace tpurun {
namespace {

bool IsLayerKind(const std::string& name) {
  return std::any_of(LayerList().begin(), LayerList().end(),
                     [&](const LayerDef& layer) { return layer.name == name; });
}

std::vector<std::string> WordsOf(std::string_view text) {
  return absl::StrSplit(ToAbsl(text), absl::ByAnyChar(" ,:()"), absl::SkipEmpty());
}

TEST(TensorFlowOps, StandForNothingThatTpurunHasUnderTheirName) {
  std::set<std::string> ours;
  for (const OpDef* op : AllOps()) {
    if (IsLayerOp(*op)) ours.insert(OpSpelling(op->name));
  }
  for (const LayerDef& layer : LayerList()) ours.insert(OpSpelling(layer.name));
  for (const TensorFlowOps& row : TensorFlowOpList()) {
    for (const std::string& name : WordsOf(row.names)) {
      EXPECT_EQ(ours.count(OpSpelling(name)), 0u) << name << " is never looked up";
    }
  }
}

TEST(TensorFlowOps, AreOneRowEach) {
  for (const TensorFlowOps& row : TensorFlowOpList()) {
    for (const std::string& name : WordsOf(row.names)) {
      EXPECT_EQ(FindTensorFlowOp(name), &row) << name << " is in another row, too";
    }
  }
}

TEST(TensorFlowOps, ProposeOpsAndLayersThatThereAre) {
  for (const TensorFlowOps& row : TensorFlowOpList()) {
    const std::vector<std::string> words = WordsOf(row.instead);
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "op" || words[i] == "ops") {
        const OpDef* const op = FindOpByName(words[i + 1]);
        EXPECT_TRUE(op != nullptr && IsLayerOp(*op)) << row.instead << ": " << words[i + 1];
      } else if (words[i] == "layer") {
        EXPECT_TRUE(IsLayerKind(words[i + 1])) << row.instead << ": " << words[i + 1];
      }
    }
  }
}

TEST(TensorFlowOps, AreFoundInEverySpelling) {
  for (const char* name : {"TopKV2", "TopK", "top_k", "topk", "tf.nn.top_k", "tf.math.top_k"}) {
    ASSERT_NE(FindTensorFlowOp(name), nullptr) << name;
    EXPECT_EQ(FindTensorFlowOp(name), FindTensorFlowOp("top_k")) << name;
  }
  EXPECT_EQ(FindTensorFlowOp("topp"), nullptr);
  EXPECT_EQ(FindTensorFlowOp(""), nullptr);
  EXPECT_EQ(FindTensorFlowOp("tf."), nullptr);
}

// Both stand on Google's page, the ops among what a TPU has, tf.acos among what it has not.
TEST(TensorFlowOps, ATpuHasWhatItHasAsAnOpWhateverThePythonApi) {
  for (const char* name : {"Acos", "tf.acos", "Bitcast", "Digamma", "lgamma", "qr",
                           "unsorted_segment_max", "bitwise_xor", "RandomShuffle"}) {
    ASSERT_NE(FindTensorFlowOp(name), nullptr) << name;
    EXPECT_TRUE(FindTensorFlowOp(name)->tpu_has) << name;
  }
  for (const char* name : {"tf.svd", "matrix_inverse", "Where", "tf.unique", "py_func", "Print",
                           "string_split", "sparse_reshape", "segment_sum", "tf.igamma"}) {
    ASSERT_NE(FindTensorFlowOp(name), nullptr) << name;
    EXPECT_FALSE(FindTensorFlowOp(name)->tpu_has) << name;
  }
}

}  // namespace
}  // namespace tpurun
