#include "cli/forecast_trace.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "runtime/ir/origin.h"
#include "runtime/tpu/tpu_program_text.h"

namespace tpurun {
namespace {

enum ForecastLane {
  kStepLane,
  kComputationsLane,
  kMatrixLane,
  kVectorLane,
  kHbmLane,
  kLinksLane,
  kInfeedLane,
};
constexpr const char* kForecastLanes[] = {"step", "computations", "matrix unit", "vector unit",
                                          "HBM",  "links",        "infeed"};

// Writes the parts of a step one after the other.
class ForecastTrace {
 public:
  ForecastTrace(const ModelCheck& check, int process, TraceEvents& events)
      : step_(check.step), accelerator_(check.accelerator), process_(process), events_(events) {}

  void Write() {
    const TpuForecast& forecast = step_.forecast;
    events_.NameProcess(process_, absl::StrCat("forecast ", accelerator_.name()));
    for (int lane = 0; lane < std::ssize(kForecastLanes); ++lane)
      events_.NameLane(process_, lane, kForecastLanes[lane]);
    AddSpan(kStepLane, "step", 0, forecast.step,
            {{"examples", step_.batch_of_core}, {"hbm_bytes", step_.memory.used()}});
    AddSpan(kInfeedLane, "batch of the next step", 0, std::max(forecast.infeed, forecast.input),
            {{"bytes_of_host", static_cast<int64_t>(forecast.infeed_bytes)}});
    AddPart("start of the step", TpuAssumptions().step_seconds, Json::object());
    const std::vector<int64_t> temporaries = TemporaryBytes(step_.program);
    for (size_t i = 0; i < step_.program.computations.size(); ++i) {
      AddHbm(i == 0 ? 0 : now_, temporaries[i]);
      AddComputation(step_.program.computations[i], forecast.computations[i]);
    }
    AddSpan(kLinksLane, "all-reduce", now_, forecast.all_reduce, ReducedBytes());
    AddPart("all-reduce", forecast.all_reduce, ReducedBytes());
    AddPart("wait for infeed", forecast.step - now_, Json::object());
    AddHbm(forecast.step, 0);
  }

 private:
  void AddComputation(const TpuComputation& computation, const TpuTime& time) {
    if (time.seconds() == 0) return;  // summed with others at the end
    const Node& node = step_.program.graph.nodes()[computation.nodes[0]];
    const NodeOrigin origin = OriginOf(step_.program, computation);
    std::vector<std::string> products;
    for (const TpuProduct& product : computation.products)
      products.push_back(PrintTpuProduct(product));
    const std::string name = node.name.empty() ? std::string(node.op->name) : node.name;
    for (const auto& [lane, seconds] :
         {std::pair(kMatrixLane, time.matrix), std::pair(kVectorLane, time.vector),
          std::pair(kHbmLane, time.hbm), std::pair(kLinksLane, time.links)}) {
      AddSpan(lane, name, now_, seconds, Json::object());
    }
    AddPart(name, time.seconds(),
            {{"layer", origin.layer},
             {"phase", PhaseName(origin.phase)},
             {"kind", TpuKindName(computation)},
             {"bound", TpuBoundName(time.bound())},
             {"products", std::move(products)},
             {"bytes", static_cast<int64_t>(time.hbm_bytes)}});
  }

  Json ReducedBytes() const {
    return {{"bytes", static_cast<int64_t>(step_.forecast.all_reduce_bytes)}};
  }

  // What the core does next.
  void AddPart(std::string_view name, double seconds, const Json& args) {
    AddSpan(kComputationsLane, name, now_, seconds, args);
    now_ += seconds;
  }

  // Nothing if it takes less than a nanosecond.
  void AddSpan(ForecastLane lane, std::string_view name, double begin, double seconds,
               const Json& args) {
    if (seconds < 1e-9) return;
    events_.AddSpan(process_, lane, TraceString(name), begin * 1e6, (begin + seconds) * 1e6,
                    JsonText(args));
  }

  void AddHbm(double time, int64_t temporaries) {
    events_.AddCount(process_, "HBM in use", "bytes", time * 1e6,
                     step_.memory.used() - step_.memory.temporaries.padded + temporaries);
  }

  const CheckedStep& step_;
  const Accelerator& accelerator_;
  const int process_;
  TraceEvents& events_;
  double now_ = 0;  // seconds since the begin of the step
};

}  // namespace

void AddForecast(const ModelCheck& check, int process, TraceEvents& events) {
  ForecastTrace(check, process, events).Write();
}

}  // namespace tpurun
