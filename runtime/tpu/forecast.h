// The forecast of a step's time on a slice of Cloud TPUs. All of it is of one device.
#ifndef TPURUN_RUNTIME_TPU_FORECAST_H_
#define TPURUN_RUNTIME_TPU_FORECAST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ir/origin.h"
#include "runtime/tpu/accelerator.h"
#include "runtime/tpu/tpu_program.h"

namespace tpurun {

// What the forecast assumes besides the published properties of the hardware.
struct TpuAssumptions {
  double computation_seconds = 1e-6;  // to start a computation, or one of a loop
  double step_seconds = 0.55e-3;      // of a step, besides its computations
  double transcendental_flops = 8;    // vector flops of exp, log, tanh, division ...
  double host_bandwidth = 8e9;        // bytes per second between host and chip
  double link_efficiency = 0.7;       // share of the links' bandwidth that an all-reduce reaches
  double hop_seconds = 1e-6;          // latency of a link
  double input_seconds = 0;           // that a host's input takes for its examples of a step
};

// What a computation waits for longest.
enum class TpuBound : uint8_t { kMatrix, kVector, kHbm, kOverhead, kLinks };

struct TpuTime {
  double matrix = 0;        // seconds in which the matrix units are busy
  double vector = 0;        // the vector unit
  double hbm = 0;           // the HBM
  double overhead = 0;      // starts
  double links = 0;         // the network between the chips
  double matrix_flops = 0;  // of the products, without padding; passes of bf16 count
  double hbm_bytes = 0;

  // Units work at the same time within a computation.
  double seconds() const;
  TpuBound bound() const;
};

// True if tiles of the right operand (k, n) stay in the matrix units while rows of the left one
// stream through; false if it is the other way round, which takes fewer cycles.
bool KeepsRightOperand(const TpuProduct& product);

// [computation]
std::vector<TpuTime> TimesOf(const TpuProgram& program, const Accelerator& accelerator,
                             const TpuAssumptions& assumptions);

struct TpuForecast {
  std::vector<TpuTime> computations;
  double compute = 0;           // seconds of a step's computations
  double all_reduce = 0;        // of which for all-reduce
  double all_reduce_bytes = 0;  // that a device sums with the others
  double infeed = 0;            // seconds to bring the batch of a step from the hosts
  double infeed_bytes = 0;      // of a host
  double input = 0;             // TpuAssumptions::input_seconds
  double step = 0;              // seconds of a step: infeed and input are hidden behind the rest
  double matrix_flops = 0;
};

TpuForecast ForecastStep(const TpuProgram& program, const Accelerator& accelerator,
                         const TpuAssumptions& assumptions);

// The computations of one layer in one phase, or of what else a step has ("optimizer", forward).
struct TpuLayer {
  std::string name;
  NodeOrigin::Phase phase = NodeOrigin::Phase::kForward;
  double seconds = 0;
  double matrix_flops = 0;
  double matrix_seconds = 0;  // of the matrix units, with padding
  double unpadded_matrix_seconds = 0;
  double hbm_bytes = 0;
  TpuBound bound = TpuBound::kHbm;  // what most of the time is waited for
};

// The layer and phase that a computation counts for: that of the product or reduction in it.
NodeOrigin OriginOf(const TpuProgram& program, const TpuComputation& computation);

// The longest first.
std::vector<TpuLayer> LayersOf(const TpuProgram& program, const TpuForecast& forecast,
                               const Accelerator& accelerator);

std::string TpuBoundName(TpuBound bound);  // "matrix unit"

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_TPU_FORECAST_H_
