// Building blocks of the transforms' export rules, in the ops of either format.
#ifndef TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_
#define TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_

#include <string>
#include <vector>

#include "runtime/ir/export_graph.h"

namespace tpurun {

// Returns x converted to the type `to`, or x itself if `from` equals `to`.
Value CastTo(ExportGraph& graph, ExportFormat format, Value x, ElementType from, ElementType to);
// Adds "Add", "Sub", "Mul" or "Div" of two f32 values with broadcasting.
Value Binary(ExportGraph& graph, ExportFormat format, const std::string& op, Value x, Value y);
// Returns x, f32, with NaN replaced by the scalar `fill`.
Value FillNaN(ExportGraph& graph, ExportFormat format, Value x, float fill);
// Returns x, strings, with every string of `texts` replaced by `fill`.
Value FillTexts(ExportGraph& graph, ExportFormat format, Value x,
                const std::vector<std::string>& texts, const std::string& fill);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_
