// Synthetic pictures drawn from a seed: a digit or a shape at a random position, with noise.
#ifndef TPURUN_DATA_CONVERT_PICTURES_H_
#define TPURUN_DATA_CONVERT_PICTURES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tpurun {

// A picture before the noise. Its pixels are background + coverage * (foreground - background).
struct Picture {
  int64_t label = 0;            // 0..9, equally likely
  std::vector<float> coverage;  // [size, size], 0 to 1
  int channels = 1;
  std::array<float, 3> background = {};  // per channel, 0 to 1
  std::array<float, 3> foreground = {};
};

class Draws;

struct PictureSubject {
  const char* name;
  int64_t size;  // default pixels per side
  Picture (*draw)(Draws& draws, int64_t size);
};

std::span<const PictureSubject> PictureSubjects();

// Draws picture `i` of a seed. The result does not depend on which other pictures are drawn.
Picture DrawPicture(const PictureSubject& subject, uint64_t seed, uint64_t i, int64_t size);
// Returns a class for each pixel, bytes [size, size]: the label + 1 where the figure covers half of
// the pixel or more, 0 elsewhere.
std::string MaskOf(const Picture& picture);
// Writes the picture's bytes [size, size, channels]. Normal noise of standard deviation 0.1 is
// added to each value, the sum is clipped to 0..1, multiplied by 255 and rounded.
void PaintPicture(const Picture& picture, uint64_t seed, uint64_t i, std::string* bytes);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_PICTURES_H_
