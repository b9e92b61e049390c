// Converts the element types of the config files to those of the device.
#ifndef TPURUN_RUNTIME_SPEC_DTYPES_H_
#define TPURUN_RUNTIME_SPEC_DTYPES_H_

#include <optional>

#include "proto/input.pb.h"
#include "runtime/ir/shape.h"

namespace tpurun {

// nullopt for STRING, which no device value can have.
inline std::optional<DType> ToDType(proto::DataType dtype) {
  switch (dtype) {
    case proto::FLOAT32:
      return DType::kF32;
    case proto::BFLOAT16:
      return DType::kBF16;
    case proto::INT32:
      return DType::kS32;
    case proto::INT64:
      return DType::kS64;
    case proto::UINT8:
      return DType::kU8;
    case proto::UINT32:
      return DType::kU32;
    case proto::BOOL:
      return DType::kPred;
    case proto::COMPLEX64:
      return DType::kC64;
    default:
      return std::nullopt;
  }
}

// The element types of an infeed slot, for messages. With use_tpu: false, UINT8 is fed too.
inline constexpr char kFedDTypes[] = "FLOAT32, BFLOAT16, INT32, INT64, UINT32 or BOOL";

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_DTYPES_H_
