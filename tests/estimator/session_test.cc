#include "runtime/estimator/session.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/ir/graph_builder.h"

namespace tpurun {
namespace {

// 16 TiB, more than any machine has.
TEST(SessionTest, VariablesThatNoMachineHoldsAreRefusedAtOnce) {
  GraphBuilder b(Graph("large", 1));
  b.AddVariable({.name = "v", .shape = {DType::kF32, {int64_t{1} << 20, int64_t{1} << 22}}});
  Session session(1, {});
  const absl::Status status = session.Load(b.Take(), {});
  EXPECT_EQ(ExitCode(status), 4) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(),
                               "does not fit in memory: want 16384.0 GiB for variables alone, "
                               "there is "))
      << status;
}

}  // namespace
}  // namespace tpurun
