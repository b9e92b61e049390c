// The orientation in the EXIF data of a JPEG file, as cameras and phones write it: CIPA DC-008
// (Exif 2.32), sections 4.5 and 4.6.4, tag 274.
#ifndef TPURUN_DATA_IMAGES_EXIF_H_
#define TPURUN_DATA_IMAGES_EXIF_H_

#include <string_view>

namespace tpurun {

// Where viewers put the first row and column of pixels: 1 (as they are) to 8. 1 if the bytes do not
// say so, are no JPEG, or are damaged.
int ExifOrientation(std::string_view bytes);

// For messages about images whose orientation is not 1.
inline constexpr char kTurnedByViewers[] =
    "viewers turn or mirror them, decode_image does not, as in TensorFlow; turn the files first, "
    "for example by `mogrify -auto-orient`";

}  // namespace tpurun

#endif  // TPURUN_DATA_IMAGES_EXIF_H_
