// Programs of TPUs for the graphs of testdata/tpu_programs, with their memory and the times of a
// v2-8.
#include "runtime/tpu/tpu_program.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/ir/graph_text.h"
#include "runtime/ops/op_list.h"
#include "runtime/tpu/forecast.h"
#include "runtime/tpu/tpu_memory.h"
#include "runtime/tpu/tpu_program_text.h"
#include "tests/golden.h"

namespace tpurun {
namespace {

TEST(TpuProgram, IsTheGoldenOne) {
  const auto accelerator = ParseAcceleratorType("v2-8");
  ASSERT_TRUE(accelerator.ok());
  for (const std::string& path : TextFiles("testdata/tpu_programs")) {
    const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
    ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
    const auto program = MakeTpuProgram(*graph, {});
    ASSERT_TRUE(program.ok()) << path << ": " << program.status();
    const TpuForecast forecast = ForecastStep(*program, *accelerator, TpuAssumptions());
    ExpectGolden(path, absl::StrCat(PrintTpuProgram(*program, forecast), "\n",
                                    PrintMemory(*program, MemoryOf(*program), *accelerator, 2)));
  }
}

// A reader sees each array after it is written, and each is written once.
TEST(TpuProgram, ReadsWhatHasBeenWritten) {
  for (const std::string& path : TextFiles("testdata/tpu_programs")) {
    const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
    ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
    const auto program = MakeTpuProgram(*graph, {.bf16_activations = true});
    ASSERT_TRUE(program.ok()) << path << ": " << program.status();
    std::vector<int> writes(program->buffers.size());
    for (size_t i = 0; i < program->computations.size(); ++i) {
      const TpuComputation& computation = program->computations[i];
      for (const std::vector<int>& reads : {computation.reads, computation.partial_reads}) {
        for (const int read : reads) {
          EXPECT_LT(program->buffers[read].first, static_cast<int>(i)) << path << " " << i;
          EXPECT_GE(program->buffers[read].last, static_cast<int>(i)) << path << " " << i;
        }
      }
      for (const int written : computation.writes) {
        EXPECT_EQ(program->buffers[written].first, static_cast<int>(i)) << path;
        EXPECT_EQ(++writes[written], 1) << path;
      }
    }
  }
}

TEST(TpuMemory, ThePeakIsWhereTemporariesTakeMost) {
  for (const std::string& path : TextFiles("testdata/tpu_programs")) {
    const auto graph = ParseGraph(GoldenInput(path), FindOpByName);
    ASSERT_TRUE(graph.ok()) << path << ": " << graph.status();
    const auto program = MakeTpuProgram(*graph, {});
    ASSERT_TRUE(program.ok()) << path << ": " << program.status();
    const TpuMemory memory = MemoryOf(*program);
    const std::vector<int64_t> bytes = TemporaryBytes(*program);
    ASSERT_EQ(bytes.size(), program->computations.size()) << path;
    for (size_t i = 0; i < bytes.size(); ++i) {
      int64_t live = 0;
      for (const TpuBuffer& buffer : program->buffers) {
        const int number = static_cast<int>(i);
        if (buffer.kind == TpuBuffer::Kind::kTemporary && std::max(buffer.first, 0) <= number &&
            number <= std::max({buffer.first, buffer.last, 0})) {
          live += buffer.bytes();
        }
      }
      EXPECT_EQ(bytes[i], live) << path << " " << i;
      EXPECT_LE(bytes[i], memory.temporaries.padded) << path << " " << i;
    }
    EXPECT_EQ(bytes[memory.peak], memory.temporaries.padded) << path;
  }
}

}  // namespace
}  // namespace tpurun
