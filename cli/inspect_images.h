// `inspect --png`: the images that an input feeds to the model, as a contact sheet.
#ifndef TPURUN_CLI_INSPECT_IMAGES_H_
#define TPURUN_CLI_INSPECT_IMAGES_H_

#include "absl/status/status.h"
#include "cli/command_line.h"

namespace tpurun {

// `tpurun inspect --png=FILE --config=FILE [--mode=MODE] [--name=NAME] [--feature=NAME]
// [--limit=N]`. Opens the input as the mode does from its beginning, and writes the images of the
// first rows of its batches as a PNG. A table on standard output, or with `json` one object a line,
// has the place, the label and the origin of each row. FILE may be "-", standard output, which then
// has the PNG alone. InvalidArgument if the model has no image among its features.
absl::Status InspectImages(const CommandLine& command, bool json);

}  // namespace tpurun

#endif  // TPURUN_CLI_INSPECT_IMAGES_H_
