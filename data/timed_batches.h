// Batches of the rows that come in time: for predictions of a stream, whose next row may be long in
// coming.
#ifndef TPURUN_DATA_TIMED_BATCHES_H_
#define TPURUN_DATA_TIMED_BATCHES_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/spec/spec.h"

namespace tpurun {

struct TimedBatchesArgs {
  std::vector<FeatureSpec> features;  // that `rows` fills the buffers with
  int64_t batch_size = 1;             // most rows of one Next
  // How long a batch waits for further rows, from the time when its first row was read. 0: a batch
  // has the rows that are there.
  std::chrono::milliseconds max_wait{0};
};

// A source whose batches consist of rows of `rows`, a source with batches of one row. A thread
// reads rows ahead, up to two batches. Rows before an error come first, in a batch of their own.
// The source has no positions: Position is empty. SetCancelled(true) is final: each later Next
// returns Cancelled, also after SetCancelled(false).
std::unique_ptr<BatchSource> MakeTimedBatches(std::unique_ptr<BatchSource> rows,
                                              TimedBatchesArgs args);

}  // namespace tpurun

#endif  // TPURUN_DATA_TIMED_BATCHES_H_
