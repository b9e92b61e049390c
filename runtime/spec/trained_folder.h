// The folder and assets of a training, for code that resumes it or uses its model.
#ifndef TPURUN_RUNTIME_SPEC_TRAINED_FOLDER_H_
#define TPURUN_RUNTIME_SPEC_TRAINED_FOLDER_H_

#include <map>
#include <string>

namespace tpurun {

struct TrainedFolder {
  std::string dir;  // the folder of the checkpoint, with the assets of the input
  // IdentityOf the bytes of each asset, by name, as in the checkpoint. Empty for a checkpoint that
  // was written before assets existed, and without a checkpoint.
  std::map<std::string, std::string> assets = {};
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_TRAINED_FOLDER_H_
