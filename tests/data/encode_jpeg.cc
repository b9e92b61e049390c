#include "tests/data/encode_jpeg.h"

#include <cstdlib>

namespace tpurun {

std::string EncodeJpegAs(const std::vector<uint8_t>& pixels, const ImageSize& size,
                         J_COLOR_SPACE color,
                         const std::function<void(jpeg_compress_struct& info)>& set) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long bytes_size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&info, &bytes, &bytes_size);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.input_components = static_cast<int>(size.channels);
  info.in_color_space = color;
  jpeg_set_defaults(&info);
  set(info);
  jpeg_start_compress(&info, TRUE);
  for (int64_t y = 0; y < size.height; ++y) {
    // It only reads them.
    auto* row = const_cast<uint8_t*>(pixels.data() + y * size.width * size.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string text(reinterpret_cast<const char*>(bytes), bytes_size);
  std::free(bytes);
  return text;
}

}  // namespace tpurun
