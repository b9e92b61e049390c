// `check --saved_model` of a file. Input: a byte, whose lowest bits say what the rest is: a
// SavedModel, a GraphDef or the text of one, then the file.
#include <sstream>
#include <string>

#include "absl/strings/str_split.h"
#include "cli/check_saved_model.h"
#include "glog/logging.h"
#include "runtime/base/text.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr const char* kModelNames[] = {"saved_model.pb", "graph.pb", "graph.pbtxt"};

}  // namespace

absl::Status FuzzSavedModel(std::string_view bytes) {
  const char* const name = kModelNames[TakeByte(&bytes) % 3];
  WriteScratch(name, bytes);
  std::ostringstream text, json;
  int64_t warnings = 0;
  const absl::Status status = CheckModelFile(ScratchPath(name), false, text, warnings);
  CheckModelFile(ScratchPath(name), true, json, warnings).IgnoreError();
  for (const std::string& out : {text.str(), json.str()}) {
    for (const absl::string_view line : absl::StrSplit(out, '\n')) {
      CHECK(IsPrintable({line.data(), line.size()})) << line;
    }
  }
  // That a TPU refuses the graph says that it was read.
  return absl::IsUnimplemented(status) ? absl::OkStatus() : status;
}

}  // namespace tpurun
