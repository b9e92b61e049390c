#include "runtime/tpu/tpu_program_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/text.h"
#include "runtime/ir/origin.h"

namespace tpurun {
namespace {

std::string ShapesOf(const TpuProgram& program, const std::vector<int>& buffers) {
  return absl::StrJoin(buffers, " ", [&](std::string* text, int id) {
    const TpuBuffer& buffer = program.buffers[id];
    absl::StrAppend(text, PrintTiledShape(buffer.shape, buffer.layout));
  });
}

}  // namespace

std::string TpuKindName(const TpuComputation& computation) {
  if (computation.collective) return "all-reduce";
  switch (computation.kind) {
    case TpuStage::Kind::kLoop:
      return "loop";
    case TpuStage::Kind::kReduce:
      return "reduce";
    case TpuStage::Kind::kMatrix:
      return "matrix";
    case TpuStage::Kind::kAlone:
      return "alone";
  }
  return "";
}

std::string PrintTpuProduct(const TpuProduct& product) {
  return absl::StrFormat("%g x (%d,%d) x (%d,%d)", product.count, product.m, product.k, product.k,
                         product.n);
}

std::string PrintTpuProgram(const TpuProgram& program, const TpuForecast& forecast) {
  std::string text;
  for (size_t i = 0; i < program.computations.size(); ++i) {
    const TpuComputation& computation = program.computations[i];
    const Node& node = program.graph.nodes()[computation.nodes[0]];
    const std::string ops = absl::StrJoin(computation.nodes, ", ", [&](std::string* out, int id) {
      absl::StrAppend(out, program.graph.nodes()[id].op->name);
    });
    absl::StrAppend(&text, i, " ", TpuKindName(computation), " ", Quote(node.name), " {", ops, "} ",
                    ShapesOf(program, computation.reads));
    if (!computation.partial_reads.empty())
      absl::StrAppend(&text, " rows of ", ShapesOf(program, computation.partial_reads));
    absl::StrAppend(&text, " -> ", ShapesOf(program, computation.writes),
                    PrintOrigins(node.origins), "\n");
    for (const TpuProduct& product : computation.products) {
      absl::StrAppend(&text, "    ", PrintTpuProduct(product), "\n");
    }
    const TpuTime& time = forecast.computations[i];
    if (time.seconds() == 0) continue;  // a sum at the end of the step
    absl::StrAppendFormat(&text,
                          "    matrix unit %.4g us, vector unit %.4g us, HBM %.4g us, links %.4g "
                          "us, starts %.4g us\n",
                          time.matrix * 1e6, time.vector * 1e6, time.hbm * 1e6, time.links * 1e6,
                          time.overhead * 1e6);
  }
  return text;
}

}  // namespace tpurun
