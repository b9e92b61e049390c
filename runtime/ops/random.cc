// Ops that draw random numbers by counter: element i of a stream is a function of
// (seed, stream, step, replica, i), for any tile and thread (runtime/base/random.h).
#include "runtime/base/random.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

struct DropoutStream {
  uint64_t seed;
  uint32_t stream, step, replica;
};

// y[i] = x[i] * scale, or 0 if the element's draw is below `threshold` (the 24 bits of
// UniformFloat).
[[gnu::always_inline]] inline void DropBlocks(const DropoutStream& of, int64_t block,
                                              uint32_t threshold, float scale, const float* x,
                                              float* y) {
  PhiloxBlocks draws;
  DrawPhiloxBlocks(of.seed, of.stream, of.step, of.replica, block, 1, draws);
  float kept[4 * kPhiloxLanes];
#pragma GCC ivdep
  for (int l = 0; l < kPhiloxLanes; ++l) {
    for (int w = 0; w < 4; ++w)
      kept[4 * l + w] = draws.words[w][l] >> 8 >= threshold ? scale : 0.0f;
  }
  for (int i = 0; i < 4 * kPhiloxLanes; ++i) y[i] = kept[i] == 0 ? 0.0f : x[i] * kept[i];
}

TPURUN_CLONES void DropElements(const DropoutStream& of, uint32_t threshold, float scale,
                                const float* x, int64_t begin, int64_t end, float* y) {
  constexpr int64_t kMost = int64_t{4} * kPhiloxLanes;
  int64_t i = begin;
  const auto one_by_one = [&](int64_t until) {
    for (; i < until; ++i) {
      const uint32_t draw = PhiloxElement(of.seed, of.stream, of.step, of.replica, i);
      y[i] = draw >> 8 >= threshold ? x[i] * scale : 0.0f;
    }
  };
  one_by_one(std::min(end, (begin + 3) / 4 * 4));
  for (; i + kMost <= end; i += kMost) DropBlocks(of, i / 4, threshold, scale, x + i, y + i);
  one_by_one(end);
}

const OpDef& DropoutOp() {
  static const OpDef& op = *new OpDef{
      .name = "dropout",
      .doc =
          "x f32, step s64[], replica s32[] -> y[i] = x[i] / (1 - rate) where u[i] >= rate, else "
          "0; u[i] is uniform in [0, 1), Philox of (seed, stream; step, replica; i). The gradient "
          "draws the same u.",
      .min_operands = 3,
      .max_operands = 3,
      .attrs = {{"rate", 0.0, true}, {"seed", int64_t{0}, true}, {"stream", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kElements, .row_operands = 1u << 0, .random = true},
      .infer_shape = [](std::span<const Shape> operands,
                        const Attrs& attrs) -> absl::StatusOr<std::vector<Shape>> {
        const double rate = attrs.Get<double>("rate");
        if (operands[0].dtype != DType::kF32 || !(operands[1] == Shape{DType::kS64, {}}) ||
            !(operands[2] == Shape{DType::kS32, {}})) {
          return absl::InvalidArgumentError(
              absl::StrCat("dropout: want f32, s64[] and s32[], got ", operands[0].ToString(), ", ",
                           operands[1].ToString(), " and ", operands[2].ToString()));
        }
        if (!(rate >= 0 && rate < 1)) {
          return absl::InvalidArgumentError(absl::StrCat("dropout: rate is in [0, 1), got ", rate));
        }
        return std::vector<Shape>{operands[0]};
      },
      .gradient =
          [](GraphBuilder& b, const Node& node, std::span<const Value> dy) {
            return std::vector<Value>{b.Add(DropoutOp(), {dy[0], node.inputs[1], node.inputs[2]},
                                            node.attrs, "dropout_grad"),
                                      Value{}, Value{}};
          },
      .reference =
          [](const OpCall& call) {
            const float rate = static_cast<float>(call.attrs.Get<double>("rate"));
            const auto threshold = static_cast<uint32_t>(std::ceil(rate * 0x1p24));
            const DropoutStream stream = {
                .seed = static_cast<uint64_t>(call.attrs.Int("seed")),
                .stream = static_cast<uint32_t>(call.attrs.Int("stream"))};
            return KernelOf([=, scale = 1.0f / (1.0f - rate)](const KernelArgs& args) {
              DropoutStream of = stream;
              of.step = static_cast<uint32_t>(*static_cast<const int64_t*>(args.operands[1]));
              of.replica = static_cast<uint32_t>(*static_cast<const int32_t*>(args.operands[2]));
              DropElements(of, threshold, scale, static_cast<const float*>(args.operands[0]),
                           args.begin, args.end, static_cast<float*>(args.results[0]));
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 10.0 * static_cast<double>(call.results[0].num_elements());
          }};
  return op;
}

}  // namespace

std::vector<const OpDef*> RandomOps() { return {&DropoutOp()}; }

Value Dropout(GraphBuilder& b, Value x, Value step, double rate, int64_t seed, uint32_t stream,
              const std::string& label) {
  const Value replica = b.Add(ReplicaIdOp(), {}, {}, "replica_id");
  return b.Add(DropoutOp(), {x, step, replica},
               {{"rate", rate}, {"seed", seed}, {"stream", static_cast<int64_t>(stream)}}, label);
}

}  // namespace tpurun
