// An estimator of the toy model in a directory of its own.
#ifndef TPURUN_TESTS_ESTIMATOR_TOY_ESTIMATOR_H_
#define TPURUN_TESTS_ESTIMATOR_TOY_ESTIMATOR_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/estimator/estimator.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "tests/estimator/toy.h"
#include "tests/io/temp_dir.h"

namespace tpurun {

// x = 1, 2, ..., n with y = 3 x, times a factor that keeps the gradient small.
inline ToyRows Line(int n, bool endless) {
  ToyRows data{.endless = endless};
  for (int i = 1; i <= n; ++i) data.rows.push_back({0.1f * i, 0.3f * i});
  return data;
}

class EstimatorTest : public ::testing::Test {
 protected:
  // Settings of one call.
  struct Setup {
    std::string dir = "m";
    std::string config;  // RunConfig fields that differ
    int num_replicas = 2;
    int num_workers = 1;
    double learning_rate = 0.01;
    std::atomic<int>* interrupt_after_loop = nullptr;
    std::function<void()> after_loop = [] {};
  };

  Estimator Make(const Setup& setup) {
    proto::RunConfig config;
    for (const std::string& text :
         {std::string("train_batch_size: 4 eval_batch_size: 4 predict_batch_size: 4 "
                      "save_checkpoints_steps: 100 tpu_config { iterations_per_loop: '5' }"),
          setup.config}) {
      proto::RunConfig part;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &part)) << text;
      config.MergeFrom(part);
    }
    config.set_model_dir(dir_.Path(setup.dir));
    const proto::Optimizer optimizer = Sgd(setup.learning_rate);
    return Estimator(
        {.config = config,
         .model_fn = [=](const ModelFnArgs& args) { return ToyModel(optimizer, args); },
         .features = {{.name = "x", .shape = {DType::kF32, {}}},
                      {.name = "y", .shape = {DType::kF32, {}}, .is_label = true}},
         .topology = {.num_of_replicas_per_host = setup.num_replicas},
         .num_workers = setup.num_workers,
         .allow_untrained = true,
         .interrupt = setup.interrupt_after_loop,
         .train = {.progress = [=](const TrainProgress&) {
           setup.after_loop();
           if (setup.interrupt_after_loop != nullptr) ++*setup.interrupt_after_loop;
         }}});
  }
  absl::StatusOr<TrainResult> Train(const Setup& setup, const ToyRows& rows) {
    return Make(setup).Train(ToyInput(rows));
  }
  // The bytes of a checkpoint.
  std::string Bytes(const std::string& dir, int64_t step) {
    const std::string prefix = dir_.Path(absl::StrCat(dir, "/model.ckpt-", step));
    const auto index = ReadFile(BundleIndexPath(prefix));
    const auto data = ReadFile(BundleDataPath(prefix, 0, 1));
    EXPECT_TRUE(index.ok() && data.ok()) << prefix;
    return index.ok() && data.ok() ? *index + *data : "";
  }
  std::vector<std::string> Files(const std::string& dir) {
    const auto names = ListDirectory(dir_.Path(dir));
    return names.ok() ? *names : std::vector<std::string>();
  }

  TempDir dir_;
};

}  // namespace tpurun

#endif  // TPURUN_TESTS_ESTIMATOR_TOY_ESTIMATOR_H_
