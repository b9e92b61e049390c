// What is wrong with layers `op {}` of a model spec, as ParseModel says it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/iris_spec.h"
#include "tests/models/mistake.h"

namespace tpurun {
namespace {

const std::vector<Mistake>& Mistakes() {
  static const std::vector<Mistake>& mistakes = *new std::vector<Mistake>{
      {"an op without a name", ImageWith("shape: 2", "op {}"),
       "model.textproto:2:19: layer 0 \"y\": name is missing"},
      {"no op", ImageWith("shape: 2", "op { name: \"exq\" }"),
       "model.textproto:2:24: layer 0 \"y\": unknown op \"exq\", did you mean \"exp\"?; `tpurun "
       "help ops` lists those there are"},
      {"an op that a TPU has", ImageWith("shape: 2", "op { name: \"less\" }"),
       "model.textproto:2:24: layer 0 \"y\": tpurun has no op \"less\" (a TPU has), want op "
       "greater with its operands exchanged; `tpurun help ops` lists those there are"},
      {"an op whose result is as large as the data says",
       ImageWith("shape: 2", "op { name: \"boolean_mask\" }"),
       "model.textproto:2:24: layer 0 \"y\": the TPU has no op \"boolean_mask\", want op mul or op "
       "select, which weigh with 0 what is left out: its result is as large as the data says, and "
       "a shape must not depend on that; `tpurun help ops` lists those there are"},
      {"an op of whole numbers that wants floats",
       ImageWith("dtype: INT64 shape: 2", "op { name: \"tanh\" }"),
       "model.textproto:2:19: layer 0 \"y\": tanh: want f32, got s64[2,2] (tanh has no "
       "attributes); "
       "unsupported data type for the TPU: operand 0 of s64; make it FLOAT32 where the input casts "
       "it, or by an op convert before it"},
      {"an op that makes bytes",
       ImageWith("shape: 2", "op { name: \"convert\" attrs: \"dtype=u8\" }"),
       "model.textproto:2:40: layer 0 \"y\": convert: unsupported data type for the TPU: dtype=u8, "
       "want f32, s32, s64, u32 or pred"},
      {"an op of passes", ImageWith("shape: 2", "op { name: \"fused\" }"),
       "model.textproto:2:24: layer 0 \"y\": fused is an op of the program's own, and no layer's; "
       "`tpurun help ops` lists those there are"},
      {"an op of all cores", ImageWith("shape: 2", "op { name: \"cross_replica_sum\" }"),
       "model.textproto:2:24: layer 0 \"y\": cross_replica_sum is an op of the program's own, and "
       "no layer's; `tpurun help ops` lists those there are"},
      {"an attribute that an op has not",
       ImageWith("shape: 2", "op { name: \"reduce_max\" attrs: \"axis=1\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_max has no attribute \"axis\", did you mean "
       "\"axes\"? (reduce_max has axes: whole numbers as [1,2])"},
      {"an attribute that is missing", ImageWith("shape: 2", "op { name: \"reduce_max\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_max: attribute axes is missing (reduce_max has "
       "axes: whole numbers as [1,2])"},
      {"an attribute of another type",
       ImageWith("shape: 2", "op { name: \"reduce_max\" attrs: \"axes=1\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_max: attribute axes has the wrong type, want "
       "one "
       "like {axes=[]}, got {axes=1} (reduce_max has axes: whole numbers as [1,2])"},
      {"attributes that are none",
       ImageWith("shape: 2", "op { name: \"reduce_max\" attrs: \"axes\" }"),
       "model.textproto:2:43: layer 0 \"y\": attribute without = (reduce_max has axes: whole "
       "numbers as [1,2])"},
      {"dimensions below the batch's",
       ImageWith("shape: 2", "op { name: \"reshape\" attrs: \"dims=[-1,-2,-1]\" }"),
       "model.textproto:2:40: layer 0 \"y\": reshape: attribute dims must hold numbers in [0, "
       "2147483648], or -1 for the batch, and not too large ones, got [-1,-2,-1] (reshape has "
       "dims: "
       "whole numbers as [1,2])"},
      {"where an op stores", ImageWith("shape: 2", "op { name: \"exp\" attrs: \"out=bf16\" }"),
       "model.textproto:2:36: layer 0 \"y\": what a result is stored in is the layer's `dtype`, "
       "not "
       "out (exp has no attributes)"},
      {"operands of an op", ImageWith("shape: 2", "op { name: \"select\" }"),
       "model.textproto:2:19: layer 0 \"y\": select: want 3 operands, got 1 (select has no "
       "attributes)"},
      {"an op of another batch",
       ImageWith("shape: [2, 3]", "op { name: \"reshape\" attrs: \"dims=[2,6]\" }"),
       "model.textproto:2:19: layer 0 \"y\": it fits a batch of 2 and no other; -1 stands for the "
       "batch in attributes, and an input of one number an example is no row: reshape: f32[66,2,3] "
       "has 396 elements, [2,6] wants 12"},
      {"an axis counted from the end",
       ImageWith("shape: [3, 3]", "op { name: \"reduce_max\" attrs: \"axes=[-1]\" }"),
       "model.textproto:2:19: layer 0 \"y\": it fits a batch of 2 and no other; -1 stands for the "
       "batch in attributes, and an input of one number an example is no row: reduce_max: want f32 "
       "and neighbouring axes in rising order, got f32[66,3,3] and axes [66]; others take a "
       "reduction for each run of them, the last run first"},
      {"an axis counted from the end, of fewer dimensions than examples",
       ImageWith("shape: 3", "op { name: \"reduce_sum\" attrs: \"axes=[-1]\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_sum: want f32 and neighbouring axes in rising "
       "order, got f32[2,3] and axes [2]; others take a reduction for each run of them, the last "
       "run first (reduce_sum has axes: whole numbers as [1,2]); -1 stands for the batch, 2"},
      {"axes that are no run",
       ImageWith("shape: [3, 4, 5]", "op { name: \"reduce_sum\" attrs: \"axes=[1,3]\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_sum: want f32 and neighbouring axes in rising "
       "order, got f32[2,3,4,5] and axes [1,3]; others take a reduction for each run of them, the "
       "last run first (reduce_sum has axes: whole numbers as [1,2])"},
      {"an op that loses the examples",
       ImageWith("shape: 3", "op { name: \"transpose\" attrs: \"perm=[1,0]\" }"),
       "model.textproto:2:19: layer 0 \"y\": result 0 of transpose must have the examples first, "
       "[N,...], got f32[3,N]"},
      {"shapes that an op refuses", ImageWith("", "op { name: \"softmax\" }"),
       "model.textproto:2:19: layer 0 \"y\": softmax: want f32[N,...,C], got f32[2] (softmax has "
       "no "
       "attributes)"},
      {"an op that reads other examples", R"(feature { name: "x" shape: [2, 3] }
feature { name: "ids" dtype: INT32 shape: 2 }
layer { name: "y" op { name: "gather" } input: ["x", "ids"] })",
       "model.textproto:3:19: layer 0 \"y\": gather reads operand 0 of all examples of a core at "
       "once; a layer's example depends on itself alone; give batch_dims=1"},
  };
  return mistakes;
}

class OpMistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(OpMistakeTest, IsReportedWithItsLine) {
  EXPECT_EQ(ErrorsOf(GetParam().model), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Spec, OpMistakeTest, testing::ValuesIn(Mistakes()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace tpurun
