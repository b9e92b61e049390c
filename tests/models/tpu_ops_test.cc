#include "models/layers/tpu_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "models/layers/layer.h"
#include "runtime/base/text.h"
#include "runtime/ops/op_list.h"
#include "runtime/tpu/op_spelling.h"
#include "runtime/tpu/tensorflow_ops.h"

namespace tpurun {
namespace {

bool IsLayerKind(const std::string& name) {
  return std::any_of(LayerList().begin(), LayerList().end(),
                     [&](const LayerDef& layer) { return layer.name == name; });
}

std::vector<std::string> WordsOf(std::string_view text) {
  return absl::StrSplit(ToAbsl(text), absl::ByAnyChar(" ,:()"), absl::SkipEmpty());
}

TEST(OpSpelling, IsThatOfOneOp) {
  for (const char* const name : {"MatMul", "matmul", "tf.matmul", "tf.linalg.matmul"})
    EXPECT_EQ(OpSpelling(name), "matmul");
  EXPECT_EQ(OpSpelling("BatchMatMulV2"), OpSpelling("batch_matmul"));
  // Not those of 1 / x, of a slice of an array, of the sum of arrays.
  EXPECT_EQ(OpSpelling("tf.linalg.inv"), OpSpelling("tf.matrix_inverse"));
  EXPECT_EQ(OpSpelling("tf.strings.split"), OpSpelling("tf.string_split"));
  EXPECT_EQ(OpSpelling("tf.sparse.add"), OpSpelling("tf.sparse_add"));
  EXPECT_EQ(OpSpelling("tf.ragged.range"), "raggedrange");
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
    EXPECT_TRUE(TpuHas(*FindTensorFlowOp(name))) << name;
  }
  for (const char* name : {"tf.svd", "matrix_inverse", "Where", "tf.unique", "py_func", "Print",
                           "string_split", "sparse_reshape", "segment_sum", "tf.igamma"}) {
    ASSERT_NE(FindTensorFlowOp(name), nullptr) << name;
    EXPECT_FALSE(TpuHas(*FindTensorFlowOp(name))) << name;
  }
}

TEST(TpuOps, AreFoundByTheirNamesAndAsEarlierVersions) {
  const auto row_of = [](const char* op) {
    const TpuOp* const row = FindTpuOp(op);
    return row == nullptr ? "" : std::string(row->name);
  };
  EXPECT_EQ(row_of("Add"), "Add");
  EXPECT_EQ(row_of("AddV2"), "Add");
  EXPECT_EQ(row_of("FusedBatchNormV2"), "FusedBatchNormV2");
  EXPECT_EQ(row_of("FusedBatchNormV3"), "FusedBatchNormV2");
  EXPECT_EQ(row_of("GatherV2"), "GatherV2");
  EXPECT_EQ(row_of("TopK"), "");  // before TopKV2
  EXPECT_EQ(row_of("V2"), "");
  EXPECT_EQ(row_of("Unique"), "");
  EXPECT_EQ(row_of(""), "");
}

// Operands are numbered, and the groups of types are spelled out.
TEST(TpuOps, SayWhatTheirAttributesAndOperandsMayBe) {
  const std::vector<TpuTypeRule> rules = TypeRulesOf(*FindTpuOp("ArgMax"));
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].attr, "T");
  EXPECT_EQ(rules[0].types, (std::vector<std::string>{"bfloat16", "complex64", "float", "int32",
                                                      "int64", "uint32", "uint64"}));
  EXPECT_EQ(rules[2].attr, "output_type");
  EXPECT_EQ(rules[2].types, (std::vector<std::string>{"int32", "int64"}));
  const std::vector<TpuConstant> slice = ConstantsOf(*FindTpuOp("Slice"));
  ASSERT_EQ(slice.size(), 2u);
  EXPECT_EQ(slice[0].name, "size");
  EXPECT_EQ(slice[0].operand, 2);
  EXPECT_EQ(slice[0].unless_positive, 0);
  EXPECT_EQ(slice[1].unless_positive, 2);
  EXPECT_EQ(ConstantsOf(*FindTpuOp("ConcatV2"))[0].operand, -1);
  EXPECT_EQ(ConstantsOf(*FindTpuOp("DynamicStitch"))[0].kind, TpuConstant::Kind::kFirstN);
  EXPECT_EQ(ConstantsOf(*FindTpuOp("SpaceToBatch"))[1].kind, TpuConstant::Kind::kAttribute);
}

// What the documentation says twice: the operator is there, its Python function is not.
TEST(TpuOps, OfTheUnavailablePythonApiLaterRuntimesHaveWhatIsAnOperator) {
  std::set<std::string> later;
  for (const TpuOp& op : TpuOps()) {
    if (op.later) later.insert(std::string(op.name));
  }
  EXPECT_EQ(later, (std::set<std::string>{
                       "tf.acos", "tf.asin", "tf.bitcast", "tf.bitwise.bitwise_xor",
                       "tf.contrib.stateless.stateless_truncated_normal", "tf.digamma", "tf.lgamma",
                       "tf.qr", "tf.random_shuffle", "tf.unsorted_segment_max"}));
}

// Every row has an op or layer of the same name here, or a row of TensorFlowOpList.
TEST(TpuOps, EachIsKnownHere) {
  int same = 0, listed = 0;
  for (const TpuOp& op : TpuOps()) {
    const bool is_same = !OpOfSpelling(op.name).empty() || !LayerOfSpelling(op.name).empty();
    const TensorFlowOps* const row = FindTensorFlowOp(op.name);
    EXPECT_TRUE(is_same || row != nullptr) << op.name;
    ++(is_same ? same : listed);
    if (is_same || row == nullptr) continue;
    const bool has = op.status == TpuOpStatus::kYes || op.status == TpuOpStatus::kIgnored;
    if (!op.later) {
      EXPECT_EQ(TpuHas(*row), has || op.name == "tf.accumulate_n") << op.name;
    }
  }
  EXPECT_EQ(same + listed, 430);
  EXPECT_GT(same, 50);
}

// A function of the Python API that is no op is made of ops that a TPU has.
TEST(TpuOps, WhatFunctionsAreMadeOfIsThere) {
  for (const TensorFlowOps& row : TensorFlowOpList()) {
    for (const std::string& op : WordsOf(row.made_of)) EXPECT_NE(FindTpuOp(op), nullptr) << op;
  }
}

std::set<std::string> Parts(const std::string& text, char separator) {
  return absl::StrSplit(text, separator, absl::SkipEmpty());
}

// The facts that the table was written from lie beside the checkout; without them there is nothing
// to compare.
TEST(TpuOps, AreThoseOfTheDocumentation) {
  const auto facts =
      std::filesystem::canonical("WORKSPACE").parent_path() / "../shared/facts/tpu_ops.tsv";
  std::ifstream file(facts);
  if (!file.is_open()) GTEST_SKIP() << facts << " is not there";
  size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    ++rows;
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    ASSERT_EQ(fields.size(), 4u) << line;
    const auto row = std::find_if(TpuOps().begin(), TpuOps().end(),
                                  [&](const TpuOp& op) { return op.name == fields[0]; });
    ASSERT_NE(row, TpuOps().end()) << fields[0];
    const bool dropped = fields[3].find("dropped") != std::string::npos;
    EXPECT_EQ(row->status == TpuOpStatus::kYes, fields[1] == "yes") << line;
    EXPECT_EQ(row->status == TpuOpStatus::kIgnored, fields[1] == "ignored") << line;
    EXPECT_EQ(row->status == TpuOpStatus::kDropped, dropped) << line;
    std::set<std::string> want, got;
    for (const std::string& rule : Parts(fields[2], ';')) {
      const std::vector<std::string> sides = absl::StrSplit(rule, '=');
      for (const std::string& type : Parts(sides[1], ',')) want.insert(sides[0] + "=" + type);
    }
    for (const TpuTypeRule& rule : TypeRulesOf(*row)) {
      for (const std::string& type : rule.types) {
        if (type != "true") got.insert(rule.attr + "=" + type);
      }
    }
    EXPECT_EQ(got, want) << fields[0];
    // Operands, then remarks.
    const std::vector<std::string> words =
        absl::StrSplit(fields[3], absl::ByAnyChar(" ,;("), absl::SkipEmpty());
    for (const TpuConstant& constant : ConstantsOf(*row)) {
      EXPECT_NE(std::find(words.begin(), words.end(), constant.name), words.end()) << line;
    }
    if (!fields[3].empty()) {
      EXPECT_TRUE(!row->constants.empty() || !row->remark.empty() || fields[1] == "no") << line;
    }
  }
  EXPECT_EQ(rows, TpuOps().size());
}

}  // namespace
}  // namespace tpurun
