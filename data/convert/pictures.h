// Pictures that are drawn from a seed: a digit or a shape anywhere, in noise.
#ifndef TPURUN_DATA_CONVERT_PICTURES_H_
#define TPURUN_DATA_CONVERT_PICTURES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tpurun {

// Before the noise: background + coverage * (foreground - background).
struct Picture {
  int64_t label = 0;            // 0..9, each as likely
  std::vector<float> coverage;  // [size, size], 0 to 1
  int channels = 1;
  std::array<float, 3> background = {};  // of each channel, 0 to 1
  std::array<float, 3> foreground = {};
};

class Draws;

struct PictureSubject {
  const char* name;
  int64_t size;  // pixels of a side unless asked for others
  Picture (*draw)(Draws& draws, int64_t size);
};

std::span<const PictureSubject> PictureSubjects();

// Picture `i` of a seed, whatever others are drawn.
Picture DrawPicture(const PictureSubject& subject, uint64_t seed, uint64_t i, int64_t size);
// Its bytes [size, size, channels]: normal noise of standard deviation 0.1 is added to each of its
// values, the sum clipped to 0..1, and 255 times that rounded.
void PaintPicture(const Picture& picture, uint64_t seed, uint64_t i, std::string* bytes);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_PICTURES_H_
