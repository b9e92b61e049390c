// The entry point of libFuzzer for one target, TPURUN_FUZZ_TARGET (BUILD.bazel).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glog/logging.h"
#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tpurun::FuzzTarget* const target = [] {
    for (const tpurun::FuzzTarget& target : tpurun::FuzzTargets()) {
      if (std::string_view(target.name) == TPURUN_FUZZ_TARGET) return &target;
    }
    LOG(FATAL) << "there is no target " << TPURUN_FUZZ_TARGET;
  }();
  tpurun::RunTarget(*target, {reinterpret_cast<const char*>(data), size}).IgnoreError();
  return 0;
}
