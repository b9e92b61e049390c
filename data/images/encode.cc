#include "data/images/encode.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/base/dcheck.h"
// After <cstdio>, whose types it uses.
#include "jpeglib.h"

namespace tpurun {

std::string EncodeJpeg(std::span<const uint8_t> pixels, const ImageSize& size, int quality) {
  TPURUN_DCHECK(std::ssize(pixels) == size.elements());
  jpeg_compress_struct info = {};
  // Its errors end the process: none is possible with memory and sizes as declared.
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long num_bytes = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&info, &bytes, &num_bytes);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.input_components = static_cast<int>(size.channels);
  info.in_color_space = size.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int64_t y = 0; y < size.height; ++y) {
    // libjpeg does not write to the rows.
    auto* row = const_cast<JSAMPROW>(pixels.data() + y * size.width * size.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string text(reinterpret_cast<const char*>(bytes), num_bytes);
  std::free(bytes);
  return text;
}

}  // namespace tpurun
