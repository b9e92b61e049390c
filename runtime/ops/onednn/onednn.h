// oneDNN as an implementation of convolutions and matrix products, next to the reference kernels:
// the parts that convolutions.h and products.h share.
//
// The kernel "onednn_bf16" multiplies the bf16 parts of the inputs, in as many
// products as the precision has. "onednn_f32" multiplies the parts (at F32 the unchanged inputs) in
// f32.
#ifndef TPURUN_RUNTIME_OPS_ONEDNN_ONEDNN_H_
#define TPURUN_RUNTIME_OPS_ONEDNN_ONEDNN_H_

#include <string>

namespace tpurun {

// The number of multiply-adds, for 16 rows of a batch, above which a library call is worth its
// overhead of 0.2 to 0.4 microseconds.
constexpr double kLibraryMultiplyAdds = 32e3;

// The number of rows for which work on a batch is estimated, for any real number of rows. The
// kernel of a row, and so its bits, must not depend on how many other rows are computed with it.
constexpr double kJudgedRows = 16;

inline constexpr char kLibraryBF16[] = "onednn_bf16";
inline constexpr char kLibraryF32[] = "onednn_f32";

// "oneDNN 2.6.3"
std::string OneDnnVersion();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_OPS_ONEDNN_ONEDNN_H_
