// Turns the elements of an input into batches: the cache that keeps them in memory, and the
// BatchSource at the end.
#ifndef TPURUN_DATA_BATCHES_H_
#define TPURUN_DATA_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/elements.h"
#include "data/records.h"
#include "data/table.h"
#include "proto/input.pb.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Reads all elements into memory and keeps the columns `keep`. The result returns the elements in
// the same order. Consumes `elements`. ResourceExhausted, with the place `where`, if the rows take
// more than `memory_bytes`.
absl::StatusOr<Elements> CacheElements(Elements elements, const Schema& keep,
                                       const std::string& where, int64_t memory_bytes);

struct BatchesArgs {
  std::string signature;  // identifies the input in saved positions
  // tf_random_seed, if it decides the order of the elements.
  std::optional<int64_t> order_seed = {};
  // columns of the last transform and their types, each column once
  std::vector<FeatureSpec> features;
  std::vector<std::string> forward_features;  // columns of the last transform
  int64_t batch_size = 0;
  int64_t batches_per_step = 1;
  RowRange rows = {};           // the rows of each step to load
  std::string batch_size_name;  // "train_batch_size"
  std::string batch_title;      // "train_batch_size of 16", "batch of 2 (train_batch_size / 8)"
  std::string where;            // the place of the input, "run.textproto:29:3"
  std::string empty;            // the message if the input has no elements
  OnEmpty on_empty;             // called if the input has no complete batch
  bool drop_remainder = false;
  // The rows of each batch are mixed, drawn by `seed`. Features that `features` lacks are left out.
  std::optional<proto::Mixup> mixup = {};
  uint64_t seed = 0;
  size_t stage = 0;  // of the batches in RowMapArgs::times
  // Has the bucket of the items last drawn. nullptr: there are no buckets.
  std::shared_ptr<const int> bucket = nullptr;
};

std::unique_ptr<BatchSource> MakeBatches(Elements elements, BatchesArgs args);

}  // namespace tpurun

#endif  // TPURUN_DATA_BATCHES_H_
