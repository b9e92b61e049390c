// What the transforms' export rules say in either format's ops.
#ifndef TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_
#define TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_

#include <string>
#include <vector>

#include "runtime/ir/export_graph.h"

namespace tpurun {

// x as another type; x where it is of that.
Value CastTo(ExportGraph& graph, ExportFormat format, Value x, ElementType from, ElementType to);
// "Add", "Sub", "Mul" or "Div" of f32 values, one broadcast to the other.
Value Binary(ExportGraph& graph, ExportFormat format, const std::string& op, Value x, Value y);
// `fill`, a scalar, where x, f32, is NaN.
Value FillNaN(ExportGraph& graph, ExportFormat format, Value x, float fill);
// `fill` where x, strings, is one of `texts`.
Value FillTexts(ExportGraph& graph, ExportFormat format, Value x,
                const std::vector<std::string>& texts, const std::string& fill);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_
