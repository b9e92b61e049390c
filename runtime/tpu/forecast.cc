#include "runtime/tpu/forecast.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

double Ceil(int64_t value, double multiple) {
  return std::ceil(static_cast<double>(value) / multiple);
}

// Cycles of one matrix unit: a tile of weights stays in it while rows stream through, 8 in 8 cycles
// (chapter TPUs of jax-ml/scaling-book). The next tile is loaded meanwhile, which takes 128 cycles.
double Cycles(int64_t rows, int64_t k, int64_t n) {
  constexpr double kTile = kTpuLanes;
  return std::max(kTpuSublanes * Ceil(rows, kTpuSublanes), kTile) * Ceil(k, kTile) * Ceil(n, kTile);
}

double CyclesOf(const TpuProduct& product) {
  return product.count *
         std::min(Cycles(product.m, product.k, product.n), Cycles(product.n, product.k, product.m));
}

// The chips that a sum combines: those of the slice, or of the largest of the sum's groups.
struct Mesh {
  int chips = 1;
  int sides = 2;           // rows and columns
  bool torus = false;      // whether its links wrap around
  bool of_a_chip = false;  // whether devices of one chip are summed
};

Mesh MeshOfSlice(const Accelerator& accelerator) {
  return {.chips = accelerator.chips(),
          .sides = accelerator.rows() + accelerator.columns(),
          .torus = accelerator.torus(),
          .of_a_chip = accelerator.devices() > accelerator.chips()};
}

// `groups` has the group of each replica; without groups all are one.
Mesh MeshOf(const std::vector<int64_t>& groups, const Accelerator& accelerator) {
  const int devices_of_chip = accelerator.devices() / accelerator.chips();
  std::map<int64_t, std::set<size_t>> chips_of;
  std::map<int64_t, size_t> members;
  for (size_t replica = 0; replica < groups.size(); ++replica) {
    chips_of[groups[replica]].insert(replica / devices_of_chip);
    ++members[groups[replica]];
  }
  if (chips_of.size() < 2) return MeshOfSlice(accelerator);
  Mesh mesh;
  for (const auto& [group, chips] : chips_of) {
    mesh.chips = std::max(mesh.chips, static_cast<int>(chips.size()));
    mesh.of_a_chip = mesh.of_a_chip || members[group] > chips.size();
  }
  const Accelerator part{.generation = accelerator.generation, .cores = 2 * mesh.chips};
  mesh.sides = part.rows() + part.columns();
  return mesh;
}

// Seconds of a sum of `bytes`. The cores of a chip add through their HBM, unless they are one
// device; then rings of chips along the sides of the mesh, in both directions if it is a torus
// (chapter Sharding of the scaling book).
double AllReduceSeconds(double bytes, const Mesh& mesh, const TpuGeneration& generation,
                        const TpuAssumptions& assumptions) {
  const double within = mesh.of_a_chip ? 3 * bytes / (2 * generation.hbm_bandwidth) : 0;
  if (mesh.chips == 1) return within;
  const double chips = mesh.chips;
  const double links = generation.link_axes * (mesh.torus ? 2 : 1);
  const double moved = 2 * bytes * (chips - 1) / chips;
  return within + moved / (links * generation.link_bandwidth * assumptions.link_efficiency) +
         2.0 * mesh.sides * assumptions.hop_seconds;
}

// A CMEM holds a few arrays that are read soon after they are written.
bool LivesInCmem(const TpuBuffer& buffer, const TpuGeneration& generation) {
  constexpr int kSoon = 8;  // computations
  return buffer.kind == TpuBuffer::Kind::kTemporary && buffer.first >= 0 &&
         buffer.last - buffer.first <= kSoon && 2 * buffer.bytes() <= generation.cmem_bytes;
}

double BytesToSum(const TpuProgram& program, const TpuComputation& computation) {
  double bytes = 0;
  for (const int read : computation.reads)
    bytes += static_cast<double>(UnpaddedTpuBytes(program.buffers[read].shape));
  return bytes;
}

std::vector<int64_t> GroupsOf(const TpuProgram& program, const TpuComputation& computation) {
  const Attrs& attrs = program.graph.nodes()[computation.nodes[0]].attrs;
  return attrs.Has("groups") ? attrs.Ints("groups") : std::vector<int64_t>();
}

// Gradients are summed together at the end of a step; what a layer sums, such as the moments of a
// batch normalization, where it is needed, and so are sums over groups.
bool IsSummedAtTheEnd(const TpuProgram& program, const TpuComputation& computation) {
  if (!GroupsOf(program, computation).empty()) return false;
  const NodeOrigin::Phase phase = OriginOf(program, computation).phase;
  return computation.collective && phase != NodeOrigin::Phase::kForward &&
         phase != NodeOrigin::Phase::kBackward;
}

}  // namespace

bool KeepsRightOperand(const TpuProduct& product) {
  return Cycles(product.m, product.k, product.n) <= Cycles(product.n, product.k, product.m);
}

double TpuTime::seconds() const { return std::max({matrix, vector, hbm}) + overhead + links; }

TpuBound TpuTime::bound() const {
  const double longest = std::max({matrix, vector, hbm, overhead, links});
  if (longest == matrix) return TpuBound::kMatrix;
  if (longest == vector) return TpuBound::kVector;
  if (longest == hbm) return TpuBound::kHbm;
  return longest == links ? TpuBound::kLinks : TpuBound::kOverhead;
}

std::vector<TpuTime> TimesOf(const TpuProgram& program, const Accelerator& accelerator,
                             const TpuAssumptions& assumptions) {
  const TpuGeneration& generation = *accelerator.generation;
  std::vector<TpuTime> times;
  for (const TpuComputation& computation : program.computations) {
    TpuTime time;
    double bytes = computation.extra_bytes;
    for (const std::vector<int>& buffers : {computation.reads, computation.writes}) {
      for (const int buffer : buffers) {
        if (!LivesInCmem(program.buffers[buffer], generation))
          bytes += static_cast<double>(program.buffers[buffer].bytes());
      }
    }
    if (computation.collective) {
      // Of those at the end see ForecastStep.
      if (!IsSummedAtTheEnd(program, computation))
        time.links = AllReduceSeconds(BytesToSum(program, computation),
                                      MeshOf(GroupsOf(program, computation), accelerator),
                                      generation, assumptions);
      times.push_back(time);
      continue;
    }
    double cycles = 0;
    for (const TpuProduct& product : computation.products) {
      cycles += CyclesOf(product);
      time.matrix_flops += product.flops();
    }
    time.matrix = cycles / generation.matrix_units / generation.clock;
    time.vector = (computation.vector_flops +
                   assumptions.transcendental_flops * computation.transcendentals) /
                  generation.vector_peak();
    time.hbm_bytes = bytes;
    time.hbm = bytes / generation.hbm_bandwidth;
    time.overhead = assumptions.computation_seconds * static_cast<double>(computation.iterations);
    times.push_back(time);
  }
  return times;
}

TpuForecast ForecastStep(const TpuProgram& program, const Accelerator& accelerator,
                         const TpuAssumptions& assumptions) {
  TpuForecast forecast{.computations = TimesOf(program, accelerator, assumptions)};
  for (size_t i = 0; i < program.computations.size(); ++i) {
    if (IsSummedAtTheEnd(program, program.computations[i]))
      forecast.all_reduce_bytes += BytesToSum(program, program.computations[i]);
    forecast.compute += forecast.computations[i].seconds();
    forecast.matrix_flops += forecast.computations[i].matrix_flops;
  }
  if (forecast.all_reduce_bytes > 0) {
    forecast.all_reduce = AllReduceSeconds(forecast.all_reduce_bytes, MeshOfSlice(accelerator),
                                           *accelerator.generation, assumptions);
  }
  forecast.compute += forecast.all_reduce;
  for (const InfeedSlot& slot : program.graph.infeed())
    forecast.infeed_bytes +=
        static_cast<double>(UnpaddedTpuBytes(slot.shape)) * accelerator.devices_of_host();
  // A host has 4 chips.
  forecast.infeed = forecast.infeed_bytes / (4 * assumptions.host_bandwidth);
  forecast.input = assumptions.input_seconds;
  forecast.step =
      std::max({forecast.compute + assumptions.step_seconds, forecast.infeed, forecast.input});
  return forecast;
}

NodeOrigin OriginOf(const TpuProgram& program, const TpuComputation& computation) {
  const Node& node = program.graph.nodes()[computation.nodes[0]];
  if (node.origins.empty()) return {kOutputOrigin};
  return *std::min_element(
      node.origins.begin(), node.origins.end(),
      [](const NodeOrigin& a, const NodeOrigin& b) { return a.phase < b.phase; });
}

std::vector<TpuLayer> LayersOf(const TpuProgram& program, const TpuForecast& forecast,
                               const Accelerator& accelerator) {
  std::map<NodeOrigin, TpuLayer> layers;
  std::map<NodeOrigin, std::map<TpuBound, double>> waits;
  for (size_t i = 0; i < program.computations.size(); ++i) {
    const TpuTime& time = forecast.computations[i];
    const NodeOrigin origin = OriginOf(program, program.computations[i]);
    TpuLayer& layer = layers[origin];
    layer.name = origin.layer;
    layer.phase = origin.phase;
    layer.seconds += time.seconds();
    layer.matrix_flops += time.matrix_flops;
    layer.matrix_seconds += time.matrix;
    layer.unpadded_matrix_seconds += time.matrix_flops / accelerator.generation->matrix_peak();
    layer.hbm_bytes += time.hbm_bytes;
    waits[origin][time.bound()] += time.seconds();
  }
  std::vector<TpuLayer> sorted;
  for (auto& [origin, layer] : layers) {
    const std::map<TpuBound, double>& of = waits[origin];
    layer.bound = std::max_element(of.begin(), of.end(), [](const auto& a, const auto& b) {
                    return a.second < b.second;
                  })->first;
    if (layer.seconds > 0) sorted.push_back(std::move(layer));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TpuLayer& a, const TpuLayer& b) { return a.seconds > b.seconds; });
  return sorted;
}

std::string TpuBoundName(TpuBound bound) {
  switch (bound) {
    case TpuBound::kMatrix:
      return "matrix unit";
    case TpuBound::kVector:
      return "vector unit";
    case TpuBound::kHbm:
      return "HBM";
    case TpuBound::kOverhead:
      return "overhead";
    case TpuBound::kLinks:
      return "links";
  }
  return "";
}

}  // namespace tpurun
