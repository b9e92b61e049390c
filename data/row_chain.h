// RowChain: loads the rows of items and applies row transforms to them, on one thread.
#ifndef TPURUN_DATA_ROW_CHAIN_H_
#define TPURUN_DATA_ROW_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/bytes.h"
#include "data/records.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "runtime/spec/input_times.h"

namespace tpurun {

// Row transforms in order, and the columns that each of them passes on.
struct RowSteps {
  // `input`: the columns before the first transform.
  RowSteps(const Schema& input, std::vector<RowTransform> transforms);

  const Schema& output() const { return transforms.empty() ? input : transforms.back().output; }

  const Schema input;
  const std::vector<RowTransform> transforms;
  // As {index before, index after}: unchanged columns, and those that a transform changes in place.
  std::vector<std::vector<std::pair<int, int>>> passed, changed;
  int64_t most_rows = 1;   // that are worth transforming at a time
  bool varies = false;     // a column has rows of a size that is not known; most_rows is then 1
  bool is_random = false;  // a transform reads the identities of the rows
};

class RowChain {
 public:
  // `records` and `steps` must outlive it. `thread`: the number of the thread that calls Run. If
  // `timed`, seconds are counted.
  RowChain(Records* records, const RowSteps* steps, int thread, bool timed);

  // Makes the rows of the items; they are valid until the next Run. Strings in them may be views of
  // what the records hold of the items.
  absl::Status Run(std::span<const Item> items);
  const Table& rows() const { return tables_.back(); }
  // The buffer that the numbers of a column are written to. If memory was lent to the buffer, they
  // are written there.
  Bytes& NumbersOf(std::string_view column);

  // What the transforms know of the first rows of the input. A chain that has none takes that of
  // another chain of the same steps before its first Run.
  bool has_state() const { return !apply_.empty(); }
  void TakeState(const RowChain& other) { apply_ = other.apply_; }
  void MakeState();

  // The seconds since the last AddTimes.
  double Seconds() const;
  // Adds the seconds of the source and of each transform to their stages, and begins to count anew.
  void AddTimes(size_t source_stage, std::span<const size_t> stages, InputTimes* times);

 private:
  Records* const records_;
  const RowSteps* const steps_;
  const int thread_;
  const bool timed_;
  std::vector<RowTransform::Apply> apply_;  // of each transform
  std::vector<Table> tables_;               // the rows before the first transform and after each
  std::vector<RowId> ids_;
  std::vector<double> seconds_;  // of the source and of each transform
};

}  // namespace tpurun

#endif  // TPURUN_DATA_ROW_CHAIN_H_
