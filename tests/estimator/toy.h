// A model and an input small enough to check on paper: y = w x with the loss mean((w x - y)^2).
#ifndef TPURUN_TESTS_ESTIMATOR_TOY_H_
#define TPURUN_TESTS_ESTIMATOR_TOY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/ops/ops.h"
#include "runtime/spec/spec.h"

namespace tpurun {

// Variable "w", f32[], initially uniform in [0, 1). Features "x", label "y". EVAL: loss and
// "examples"; PREDICT: "line" [1] = w x and "x".
inline absl::StatusOr<EstimatorSpec> ToyModel(const proto::Optimizer& optimizer,
                                              const ModelFnArgs& args) {
  GraphBuilder b(Graph("toy", args.topology.num_replicas()));
  EstimatorSpec spec;
  spec.mode = args.mode;
  const Shape rows = {DType::kF32, {args.batch_per_replica}};
  const Value x = b.AddInfeed("x", rows);
  const Value y = args.has_labels ? b.AddInfeed("y", rows) : Value{};
  const int w = b.AddVariable({.name = "w",
                               .shape = {DType::kF32, {}},
                               .initializer = {Initializer::Kind::kUniform, 0, 1},
                               .trainable = true});
  const Value line = Mul(b, x, b.Read(w), "line");
  Value row_weight;
  if (args.mode != ModeKey::kTrain) row_weight = b.AddInfeed(kRowWeightSlot, rows);
  if (args.mode != ModeKey::kPredict) {
    const Value squares = Square(b, Sub(b, line, y, "error"));
    if (args.mode == ModeKey::kTrain) {
      spec.loss = ReduceMean(b, squares, {}, "loss");
      spec.optimizers.push_back({optimizer, "toy", spec.loss, {w}});
    } else {
      const Value one = Constant(b, DType::kF32, rows.dims, 1);
      spec.eval_metrics.push_back({"loss",
                                   {Mul(b, squares, row_weight), Mul(b, one, row_weight)},
                                   [](std::span<const double> sums) { return sums[0] / sums[1]; }});
    }
  } else {
    spec.predictions.push_back({"line", Reshape(b, line, {args.batch_per_replica, 1})});
    spec.predictions.push_back({"x", x});
  }
  RETURN_IF_ERROR(b.status());
  spec.graph = b.Take();
  return spec;
}

inline proto::Optimizer Sgd(double rate) {
  proto::Optimizer optimizer;
  optimizer.mutable_gradient_descent();
  optimizer.mutable_learning_rate()->set_constant(rate);
  return optimizer;
}

// Rows (x, y) in order, over and over when endless.
struct ToyRows {
  std::vector<std::pair<float, float>> rows;
  bool endless = false;
  std::function<void()> before_batch = [] {};
};

class ToySource : public BatchSource {
 public:
  // `batch` rows at a time.
  ToySource(ToyRows data, int64_t batch, int columns)
      : data_(std::move(data)), batch_(batch), columns_(columns) {}

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    data_.before_batch();
    int64_t row = 0;
    for (; row < batch_; ++row, ++next_) {
      if (!data_.endless && next_ == static_cast<int64_t>(data_.rows.size())) break;
      const auto& [x, y] = data_.rows[next_ % data_.rows.size()];
      reinterpret_cast<float*>(buffers[0])[row] = x;
      if (columns_ > 1) reinterpret_cast<float*>(buffers[1])[row] = y;
    }
    return row;
  }
  std::string Position() const override { return absl::StrCat("toy ", next_); }
  absl::Status Restore(const std::string& position) override {
    next_ = *ParseInt64(position.substr(4));
    return absl::OkStatus();
  }
  std::string Where(int64_t row) const override {
    return absl::StrCat("toy row ", next_ - batch_ + row);
  }

 private:
  const ToyRows data_;
  const int64_t batch_;
  const int columns_;
  int64_t next_ = 0;
};

// In PREDICT it has no labels.
inline InputFn ToyInput(ToyRows data) {
  return [data](const InputFnArgs& args) -> absl::StatusOr<InputSource> {
    InputSource input;
    input.features = args.features;
    if (args.mode == ModeKey::kPredict) input.features.resize(1);
    ToyRows rows = data;
    rows.rows.clear();
    for (size_t i = args.shard.index; i < data.rows.size(); i += args.shard.num_shards) {
      rows.rows.push_back(data.rows[i]);
    }
    rows.endless = rows.endless || args.count_examples;
    input.examples_per_epoch = static_cast<int64_t>(rows.rows.size());
    input.batches = std::make_unique<ToySource>(rows, args.batch_size * args.batches_per_step,
                                                static_cast<int>(input.features.size()));
    input.endless = rows.endless;
    return input;
  };
}

}  // namespace tpurun

#endif  // TPURUN_TESTS_ESTIMATOR_TOY_H_
