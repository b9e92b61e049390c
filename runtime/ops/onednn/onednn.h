// oneDNN as an implementation of convolutions and matrix products, beside the reference kernels:
// what both say of it. convolutions.h and products.h have their calls.
//
// A plan's implementation "onednn_bf16" multiplies the bf16 parts of the inputs, as many products
// as the precision has; "onednn_f32" multiplies these parts, or at F32 the inputs as they are, in
// f32; "reference" where the library is not worth it or cannot.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_ONEDNN_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_ONEDNN_H_

#include <string>

namespace tpurun {

// Multiply-adds from which a library call is worth its 0.2 to 0.4 microseconds, counted for 16 rows
// of a batch.
constexpr double kLibraryMultiplyAdds = 32e3;

// The rows by which work on a batch is judged, whatever their number: which kernel computes a row,
// and so its bits, must not depend on how many others are computed with it.
constexpr double kJudgedRows = 16;

// "oneDNN 2.6.3"
std::string OneDnnVersion();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_ONEDNN_H_
