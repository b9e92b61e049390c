#include "cli/foreign_flags.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_split.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr std::string_view kTrains = "train train_and_evaluate";

// Those of the iris and MNIST samples of the TPUEstimator guides, of the official Cloud TPU models
// and of BERT.
constexpr ForeignFlag kFlags[] = {
    {"tpu tpu_name tpu_names tpu_zone zone gcp_project project num_tpu_cores num_cores", "",
     "leave it out: there is no cluster, tpurun is the TPU, of tpu_config.num_shards emulated "
     "cores "
     "(--use_tpu=false does without)"},
    {"tf_config TF_CONFIG", "",
     "it is an environment variable: TF_CONFIG='{\"model_dir\": \"DIR\"}' tpurun VERB ... (tpurun "
     "help TF_CONFIG)"},
    {"batch_size", "train", "want --train_batch_size=N"},
    {"batch_size", "evaluate", "want --eval_batch_size=N"},
    {"batch_size", "predict", "want --predict_batch_size=N"},
    {"batch_size", "", "want --train_batch_size=N, --eval_batch_size=N or --predict_batch_size=N"},
    {"iterations", "", "want --set tpu_config.iterations_per_loop=N"},
    {"train_steps num_train_steps", kTrains, "want --max_steps=N"},
    {"train_steps num_train_steps", "", "want --set train.max_steps=N"},
    {"train_epochs num_epochs num_train_epochs", kTrains, "want --epochs=E"},
    {"eval_steps num_eval_steps max_eval_steps", "evaluate",
     "want --steps=N, or leave it out for one exact pass over the examples"},
    {"eval_steps num_eval_steps max_eval_steps", "",
     "want --set evaluate.0.steps=N; without it an evaluation is one exact pass over the examples"},
    {"steps_per_eval", "", "want --set train_and_evaluate.steps_per_eval=N"},
    {"train_file train_files input_file data_dir train_data_dir", kTrains,
     "want --set train.input.source.tfrecord.file=FILE, in place of tfrecord the configuration's "
     "source; FILE may be a glob"},
    {"train_file train_files input_file data_dir eval_file eval_files test_file", "evaluate",
     "want --set evaluate.0.input.source.tfrecord.file=FILE, in place of tfrecord the "
     "configuration's source; FILE may be a glob"},
    {"input_file data_dir predict_file test_file", "predict",
     "want --set predict.input.source.tfrecord.file=FILE, in place of tfrecord the configuration's "
     "source; FILE may be a glob"},
    {"learning_rate base_learning_rate lr", "",
     "want --set model.optimizer.0.learning_rate.constant=RATE"},
    {"dataset_reader_buffer_size", "", "leave it out: files are read ahead as it is"},
    {"output_dir job_dir", "", "want --model_dir=DIR"},
    {"export_dir", "export", "want --output=BASE"},
    {"init_checkpoint", "", "want --set warm_start_from.ckpt_to_initialize_from=PREFIX"},
    {"checkpoint_path", "evaluate predict export", "want --checkpoint=PREFIX"},
    {"seed random_seed", "", "want --tf_random_seed=N"},
    {"precision use_bfloat16", "", "want --set model.compute_dtype=BFLOAT16"},
    {"mode do_train do_eval do_predict enable_predict", "",
     "leave it out: the verb says it, train, evaluate, train_and_evaluate or predict"},
};

bool HasWord(std::string_view words, std::string_view word) {
  const std::vector<std::string> all = absl::StrSplit(ToAbsl(words), ' ');
  return std::find(all.begin(), all.end(), word) != all.end();
}

}  // namespace

std::span<const ForeignFlag> ForeignFlags() { return kFlags; }

std::string ForeignFlagHint(std::string_view name, std::string_view verb) {
  for (const ForeignFlag& flag : kFlags) {
    if (!HasWord(flag.names, name)) continue;
    if (flag.verbs.empty() || HasWord(flag.verbs, verb)) return std::string(flag.hint);
  }
  return "";
}

}  // namespace tpurun
