#include "data/convert/example_list.h"

#include <algorithm>
#include <vector>

#include "runtime/base/cpu.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// Examples that are read at a time.
constexpr int64_t kExamplesAtATime = 64;

}  // namespace

absl::Status ReadExamples(const ExampleList& list, int64_t first, int64_t stride, ThreadPool& pool,
                          const ExampleSink& write) {
  const int64_t count = NumExamples(list, first, stride);
  std::vector<absl::StatusOr<tensorflow::Example>> examples;
  for (int64_t begin = 0; begin < count; begin += kExamplesAtATime) {
    const int64_t some = std::min(kExamplesAtATime, count - begin);
    examples.assign(some, tensorflow::Example());
    pool.ForEach(some,
                 [&](int64_t i, int) { examples[i] = list.Read(first + (begin + i) * stride); });
    for (const absl::StatusOr<tensorflow::Example>& example : examples) {
      RETURN_IF_ERROR(example.status());
      RETURN_IF_ERROR(write(*example));
    }
  }
  return absl::OkStatus();
}

int64_t NumExamples(const ExampleList& list, int64_t first, int64_t stride) {
  return list.size() <= first ? 0 : (list.size() - first + stride - 1) / stride;
}

absl::Status WriteList(const ExampleList& list, const ExampleSink& write) {
  ThreadPool pool(static_cast<int>(AllowedCpus().size()));
  RETURN_IF_ERROR(ReadExamples(list, 0, 1, pool, write));
  return list.WriteBeside();
}

}  // namespace tpurun
