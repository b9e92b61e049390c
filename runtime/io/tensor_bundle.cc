// The code that BundleReader and BundleWriter share.
#include "runtime/io/tensor_bundle.h"

#include "absl/strings/str_format.h"

namespace tpurun {

std::string BundleIndexPath(const std::string& prefix) { return prefix + ".index"; }

std::string BundleDataPath(const std::string& prefix, int shard, int num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

size_t DataTypeSize(tensorflow::DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_BOOL:
    case tensorflow::DT_INT8:
    case tensorflow::DT_UINT8:
    case tensorflow::DT_QINT8:
    case tensorflow::DT_QUINT8:
      return 1;
    case tensorflow::DT_INT16:
    case tensorflow::DT_UINT16:
    case tensorflow::DT_QINT16:
    case tensorflow::DT_QUINT16:
    case tensorflow::DT_HALF:
    case tensorflow::DT_BFLOAT16:
      return 2;
    case tensorflow::DT_FLOAT:
    case tensorflow::DT_INT32:
    case tensorflow::DT_UINT32:
    case tensorflow::DT_QINT32:
      return 4;
    case tensorflow::DT_DOUBLE:
    case tensorflow::DT_INT64:
    case tensorflow::DT_UINT64:
    case tensorflow::DT_COMPLEX64:
      return 8;
    case tensorflow::DT_COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

std::optional<int64_t> NumElements(absl::Span<const int64_t> shape) {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) empty = true;
    if (!empty && __builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return empty ? 0 : product;
}

}  // namespace tpurun
