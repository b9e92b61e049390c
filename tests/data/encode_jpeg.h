// EncodeJpegAs: JPEG files of every kind that libjpeg writes.
#ifndef TPURUN_TESTS_DATA_ENCODE_JPEG_H_
#define TPURUN_TESTS_DATA_ENCODE_JPEG_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "data/images/image.h"
#include "jpeglib.h"

namespace tpurun {

// The file of `pixels`, row after row, whose values are of the space `color`. `set` changes
// libjpeg's defaults.
std::string EncodeJpegAs(const std::vector<uint8_t>& pixels, const ImageSize& size,
                         J_COLOR_SPACE color,
                         const std::function<void(jpeg_compress_struct& info)>& set);

}  // namespace tpurun

#endif  // TPURUN_TESTS_DATA_ENCODE_JPEG_H_
