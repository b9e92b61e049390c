// PNG images in memory, by libpng.
#ifndef TPURUN_RUNTIME_IO_PNG_H_
#define TPURUN_RUNTIME_IO_PNG_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace tpurun {

// `pixels` has shape (height, width, channels), row-major. `channels` is 1 for grey, 3 for RGB, 4
// for RGBA.
absl::StatusOr<std::string> EncodePng(std::span<const uint8_t> pixels, int64_t height,
                                      int64_t width, int64_t channels);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_PNG_H_
