// Writes an exported model as an ONNX file: opset 17, IR version 8. Source: the ONNX project's
// docs/IR.md and docs/Operators.md.
#ifndef TPURUN_RUNTIME_EXPORT_ONNX_H_
#define TPURUN_RUNTIME_EXPORT_ONNX_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/export/exported_model.h"

namespace tpurun {

// The bytes of a ModelProto with `model` in ONNX's ops and the values of its variables. Its inputs
// are named as the fields, or as the features if there are no fields, and its outputs as the
// predictions. `value_of` as in SavedModelContents. If a head classifies, "classes" is added to
// `metadata`: the names as a JSON array, ["0","1"]. Several such heads have one entry each, with
// the key of the head's signature: "classification_1/classes". InvalidArgument if the message is
// larger than protobuf's 2 GiB.
absl::StatusOr<std::string> ToOnnx(
    const ExportedModel& model, const std::string& name,
    std::map<std::string, std::string> metadata,
    const std::function<std::string_view(const std::string& key)>& value_of);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_ONNX_H_
