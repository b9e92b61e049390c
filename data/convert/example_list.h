// ExampleList: the examples of a conversion that knows them all before it reads the first.
#ifndef TPURUN_DATA_CONVERT_EXAMPLE_LIST_H_
#define TPURUN_DATA_CONVERT_EXAMPLE_LIST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/convert/convert.h"
#include "data/thread_pool.h"
#include "proto/example.pb.h"

namespace tpurun {

class ExampleList {
 public:
  virtual ~ExampleList() = default;
  virtual int64_t size() const = 0;
  // Reads example i. Any thread may call it.
  virtual absl::StatusOr<tensorflow::Example> Read(int64_t i) const = 0;
  // A text of some lines. Two lists with the same text have the same examples.
  virtual std::string Identity() const = 0;
  // Writes what belongs beside the records, when all of them have been read.
  virtual absl::Status WriteBeside() const { return absl::OkStatus(); }
};

// Reads the examples first, first + stride, ... in parallel and passes them to `write` in that
// order.
absl::Status ReadExamples(const ExampleList& list, int64_t first, int64_t stride, ThreadPool& pool,
                          const ExampleSink& write);
// The number of these examples.
int64_t NumExamples(const ExampleList& list, int64_t first, int64_t stride);

// Passes all examples to `write` and writes what belongs beside them.
absl::Status WriteList(const ExampleList& list, const ExampleSink& write);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_EXAMPLE_LIST_H_
