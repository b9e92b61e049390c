// Strided products computed by oneDNN.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_STRIDED_PRODUCTS_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_STRIDED_PRODUCTS_H_

#include <memory>

#include "runtime/ops/strided_product.h"

namespace tpurun {

// `operands` is f32 or bf16. Returns nullptr if the library refuses.
std::unique_ptr<StridedProduct> MakeLibraryProduct(const StridedProductDef& def, DType operands);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_STRIDED_PRODUCTS_H_
