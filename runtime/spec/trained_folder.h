// What whoever goes on with a training, or uses what it has made, knows of it.
#ifndef TPURUN_RUNTIME_SPEC_TRAINED_FOLDER_H_
#define TPURUN_RUNTIME_SPEC_TRAINED_FOLDER_H_

#include <map>
#include <string>

namespace tpurun {

struct TrainedFolder {
  std::string dir;  // where it has put the assets of its input: that of the checkpoint
  // Of each asset, by name, the IdentityOf its bytes, as the checkpoint has it. Empty of one that
  // was written before there were any, and without a checkpoint.
  std::map<std::string, std::string> assets = {};
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SPEC_TRAINED_FOLDER_H_
