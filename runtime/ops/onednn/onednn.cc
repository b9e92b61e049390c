#include "runtime/ops/onednn/onednn.h"

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.h"

namespace tpurun {

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return absl::StrCat("oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

}  // namespace tpurun

#ifdef TPURUN_SANITIZED
// ThreadSanitizer does not see the guards of static variables in a library that is not
// instrumented.
extern "C" const char* __tsan_default_suppressions();  // NOLINT
const char* __tsan_default_suppressions() { return "called_from_lib:libdnnl.so\n"; }
#endif
