// Building blocks of the transforms' export rules, in the ops of either format.
#ifndef TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_
#define TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_

#include <map>
#include <string>
#include <vector>

#include "data/table.h"
#include "runtime/ir/export_graph.h"

namespace tpurun {

// Returns x reshaped to known dimensions, of which one may be -1, in TensorFlow's ops.
Value Reshaped(ExportGraph& graph, Value x, ElementType type, const ExportDims& dims);
// Returns x converted to the type `to`, or x itself if `from` equals `to`.
Value CastTo(ExportGraph& graph, ExportFormat format, Value x, ElementType from, ElementType to);
// Adds "Add", "Sub", "Mul" or "Div" of two f32 values with broadcasting.
Value Binary(ExportGraph& graph, ExportFormat format, const std::string& op, Value x, Value y);
// Returns x, f32, with NaN replaced by the scalar `fill`.
Value FillNaN(ExportGraph& graph, ExportFormat format, Value x, float fill);
// Returns x, strings, with every string of `texts` replaced by `fill`.
Value FillTexts(ExportGraph& graph, ExportFormat format, Value x,
                const std::vector<std::string>& texts, const std::string& fill);
// Returns 1 where x, f32, is NaN, or where x, strings, is one of `texts`; elsewhere 0; f32.
Value IndicateNaN(ExportGraph& graph, ExportFormat format, Value x);
Value IndicateTexts(ExportGraph& graph, ExportFormat format, Value x,
                    const std::vector<std::string>& texts);

// ---- lists of any length, in TensorFlow's ops

// A tf.RaggedTensor: the elements of all rows, and the ends of the rows among them, int64 (rows +
// 1) that begin with 0.
struct Ragged {
  Value values;
  Value row_splits;
};
// The columns of an export rule (RowTransform::Export) have the values of a list under its name,
// and its row_splits under this key, which is the name of no column.
std::string RowSplitsKey(const std::string& column);
void PutRagged(const Ragged& list, const std::string& column,
               std::map<std::string, Value>* columns);
// The column, a list or with a fixed number of elements in each row.
Ragged RaggedOf(ExportGraph& graph, const ColumnType& column,
                const std::map<std::string, Value>& columns);
// 0, 1, ..., count + more - 1, of int64. `count` is an int64 (1).
Value TensorFlowRange(ExportGraph& graph, Value count, int64_t more);
// Of each element the number of its row, of int64. `type`: of the elements.
Value TensorFlowRowIds(ExportGraph& graph, const Ragged& list, ElementType type);

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_EXPORT_OPS_H_
