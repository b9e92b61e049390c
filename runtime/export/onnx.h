// An exported model as an ONNX file: opset 17, IR version 8. Source: the ONNX project's docs/IR.md
// and docs/Operators.md.
#ifndef TPURUN_RUNTIME_EXPORT_ONNX_H_
#define TPURUN_RUNTIME_EXPORT_ONNX_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/export/exported_model.h"

namespace tpurun {

// The bytes of a ModelProto: `model` in ONNX's ops, its variables' values in it, inputs named as
// the fields, without such as the features, and outputs as the predictions. `value_of` as in
// SavedModelContents. To `metadata` it adds "classes" where a head classifies: the names as a JSON
// array, ["0","1"]; of several such heads one each, by the key of the head's signature:
// "classification_1/classes". InvalidArgument when the message is larger than protobuf's 2 GiB.
absl::StatusOr<std::string> ToOnnx(
    const ExportedModel& model, const std::string& name,
    std::map<std::string, std::string> metadata,
    const std::function<std::string_view(const std::string& key)>& value_of);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_ONNX_H_
