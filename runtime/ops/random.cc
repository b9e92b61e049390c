// Ops that draw random numbers by counter: element i of a stream is a function of
// (seed, stream, step, replica, i), for any tile and thread (runtime/base/random.h).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/clones.h"
#include "runtime/base/status.h"
#include "runtime/ir/tpu_stages.h"
#include "runtime/ops/dropout_draws.h"
#include "runtime/ops/op_list.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// y[i] = x[i] * scale, or 0 if the draw is below `threshold`.
TPURUN_CLONES void Drop(const uint16_t* draws, uint32_t threshold, float scale, int64_t n,
                        const float* x, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = draws[i] >= threshold ? x[i] * scale : 0.0f;
}

void DropElements(const DropoutStream& of, uint32_t threshold, const float* x, int64_t begin,
                  int64_t end, float* y) {
  const float scale = KeepScale(threshold);
  for (int64_t i = begin; i < end;) {
    const int64_t group = i / kGroupValues, first = group * kGroupValues;
    const int64_t n = std::min(end, first + kGroupValues) - i;
    uint16_t draws[kGroupValues];
    DrawGroup(of, group * kPhiloxLanes, draws);
    Drop(draws + (i - first), threshold, scale, n, x + i, y + i);
    i += n;
  }
}

const OpDef& DropoutOp() {
  static const OpDef& op = *new OpDef{
      .name = "dropout",
      .doc =
          "x f32, step s64[], replica s32[] -> y[i] = x[i] / (1 - r) where u[i] >= r, else 0; r is "
          "the rate rounded to a multiple of 2^-16 below 1, u[i] a uniform such multiple in [0, "
          "1), "
          "Philox of (seed, stream; step, replica; i). The gradient draws the same u.",
      .min_operands = 3,
      .max_operands = 3,
      .attrs = {{"rate", 0.0, true}, {"seed", int64_t{0}, true}, {"stream", int64_t{0}, true}},
      .flags = {.unit = WorkUnit::kElements,
                .elementwise = true,
                .row_operands = 1u << 0,
                .random = true},
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
            const uint32_t threshold = DrawThreshold(call.attrs.Get<double>("rate"));
            const DropoutStream stream = {
                .seed = static_cast<uint64_t>(call.attrs.Int("seed")),
                .stream = static_cast<uint32_t>(call.attrs.Int("stream"))};
            return KernelOf([=](const KernelArgs& args) {
              DropoutStream of = stream;
              of.step = static_cast<uint32_t>(*static_cast<const int64_t*>(args.operands[1]));
              of.replica = static_cast<uint32_t>(*static_cast<const int32_t*>(args.operands[2]));
              DropElements(of, threshold, static_cast<const float*>(args.operands[0]), args.begin,
                           args.end, static_cast<float*>(args.results[0]));
            });
          },
      .cost =
          [](const OpCall& call, Cost& cost) {
            cost.vector_flops = 10.0 * static_cast<double>(call.results[0].num_elements());
          },
      .tpu =
          [](const OpCall& call) {
            TpuWork work = OneTpuStage<TpuStage::Kind::kLoop>(call);
            work.stages[0].vector_flops +=
                kTpuRandomFlops * static_cast<double>(call.results[0].num_elements());
            return work;
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
