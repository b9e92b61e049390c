#include "cli/help_synonyms.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/help_topics.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr HelpSynonym kSynonyms[] = {
    {"accelerator tpu cores v2", "use_tpu tpu_config tpu_errors tpu_ops"},
    {"activation activation_function nonlinearity relu relu6 leaky_relu elu selu gelu swish silu "
     "mish sigmoid softmax softplus softsign tanh",
     "Activation activation"},
    {"adaptiveavgpool1d adaptive_avg_pool1d globalavgpool1d global_avg_pool1d "
     "globalaveragepooling1d mean_pooling",
     "global_average_pooling1d"},
    {"adaptivemaxpool1d adaptive_max_pool1d globalmaxpool1d global_max_pool1d globalmaxpooling1d",
     "global_max_pooling1d"},
    {"attention self_attention mha", "multi_head_attention transformer_block"},
    {"augmentation contact_sheet", "transforms inspect"},
    {"avgpool average_pool avg_pool", "average_pooling2d average_pooling1d"},
    {"avgpool1d avg_pool1d averagepooling1d", "average_pooling1d"},
    {"bag_of_words bow multi_hot", "category_encoding"},
    {"batch_norm batchnorm bn", "batch_normalization"},
    {"batch_size minibatch", "train_batch_size eval_batch_size predict_batch_size batch"},
    {"bert transformer", "transformer_block multi_head_attention"},
    {"bfloat16 bf16 fp16 float16 half mixed_precision precision", "compute_dtype matmul_precision"},
    {"callback hook", "training_hook evaluation_hook"},
    {"checkpoint ckpt save saver saving restore",
     "save_checkpoints_steps save_checkpoints_secs keep_checkpoint_max warm_start_from inspect"},
    {"classifier", "classification accuracy"},
    {"cnn conv convolution", "conv2d conv1d conv2d_transpose max_pooling2d"},
    {"command_line cli override", "set fields"},
    {"concatenate concatenation", "concat"},
    {"cross_entropy crossentropy",
     "sparse_softmax_cross_entropy softmax_cross_entropy sigmoid_cross_entropy"},
    {"causal temporal_convolution tcn textcnn", "conv1d"},
    {"csv table", "decode_csv text_line init convert"},
    {"cuda cudnn gpu nvidia", "use_tpu worker_threads",
     "There is no GPU: tpurun emulates a TPU on the cores of the CPU."},
    {"cpu thread parallelism", "worker_threads use_tpu"},
    {"data dataset tf.data input input_fn pipeline", "sources transforms train.input"},
    {"decay annealing lr learning_rate rate step_size warmup", "schedules learning_rate"},
    {"distributed cluster multi_worker strategy mpi mpirun srun slurm hostfile ranks nodes",
     "several_machines distributed_input TF_CONFIG"},
    {"ema averaging polyak", "moving_average"},
    {"embedding_lookup", "embedding"},
    {"ensemble swa", "moving_average"},
    {"environment env", "TF_CONFIG"},
    {"epoch", "epochs max_steps repeat"},
    {"error exit exit_code status return_code", "exit_codes tpu_errors"},
    {"estimator tpuestimator tpu_estimator model_fn host_call warmstartsettings",
     "migrating_from_tpu_estimator RunConfig TPUConfig"},
    {"evaluation validation test", "evaluate train_and_evaluate metrics"},
    {"fine_tuning finetune finetuning pretrained transfer_learning h5",
     "warm_start_from frozen migrating_from_keras"},
    {"freeze freezing", "frozen trainable"},
    {"gradient_clipping clipping clip", "clip_by_global_norm clip_by_norm clip_by_value"},
    {"hyperparameter hparams tuning sweep grid_search tuner", "sweeps set report"},
    {"image jpeg png picture mnist cifar", "convert decode_raw init inspect"},
    {"class_names string_label", "label_vocabulary lookup"},
    {"imbalanced oversample oversampling undersampling",
     "class_weight pos_weight rejection_resample sample_from_datasets"},
    {"inference prediction streaming latency", "predict keys export max_wait_ms"},
    {"kfold k_fold cross_validation crossvalidation", "shard data"},
    {"keras sequential compile fit", "migrating_from_keras layers"},
    {"l1 l2 weight_decay regularizer", "regularization adamw"},
    {"layer_norm layernorm", "layer_normalization"},
    {"log logging verbose verbosity", "log_format quiet log_step_count_steps"},
    {"log_loss logloss bce binary_cross_entropy",
     "binary_crossentropy sparse_categorical_crossentropy sigmoid_cross_entropy"},
    {"loss_weights multitask multi_task", "loss_weight weight head"},
    {"mae l1loss l1_loss", "mean_absolute_error absolute_difference"},
    {"mask masking padding pad_packed_sequence", "drop_mask mask_zero global_average_pooling1d"},
    {"maxpool max_pool pooling",
     "max_pooling2d average_pooling2d global_average_pooling2d max_pooling1d average_pooling1d "
     "global_average_pooling1d global_max_pooling1d"},
    {"maxpool1d max_pool1d maxpooling1d", "max_pooling1d"},
    {"memory oom hbm", "exit_codes tpu_errors"},
    {"metric accuracy", "metrics"},
    {"f1 f1score fbeta", "f1_score"},
    {"iou jaccard meaniou", "mean_iou"},
    {"matthews_corrcoef mcc matthewscorrelationcoefficient", "matthews_correlation"},
    {"per_group per_class slice_metrics fairness", "by num_groups class_id"},
    {"pr_auc prauc average_precision precision_recall_curve roc_auc rocauc", "auc curve"},
    {"r2 r_squared r2score", "r2_score"},
    {"migrating migration migrate", "migrating_from_keras migrating_from_tpu_estimator"},
    {"modelcheckpoint model_checkpoint earlystopping restore_best_weights save_best_only",
     "train_and_evaluate monitor restore_best"},
    {"mse", "mean_squared_error regression"},
    {"zeropad1d constantpad1d zeropadding1d", "zero_padding1d"},
    {"zeropad2d constantpad2d zeropadding2d", "zero_padding2d"},
    {"upsample upsampling upsampling2d interpolate", "up_sampling2d"},
    {"groupnorm group_norm instancenorm instance_norm instancenorm2d", "group_normalization"},
    {"depthwise depthwiseconv2d separable separableconv2d", "depthwise_conv2d separable_conv2d"},
    {"segmentation semantic_segmentation unet u_net ignore_index",
     "sequence ignore_class cookbook"},
    {"squeeze_and_excitation squeeze_excite", "multiply"},
    {"droppath drop_path stochastic_depth spatialdropout spatialdropout2d dropout2d", "dropout"},
    {"nan infinity diverged", "tpu_errors exit_codes"},
    {"normalization standardization", "normalize batch_normalization layer_normalization"},
    {"quantile quantile_regression pinball", "pinball_loss"},
    {"recurrent rnn", "lstm gru simple_rnn bidirectional"},
    {"resume restart continue", "train exit_codes"},
    {"rmse", "root_mean_squared_error"},
    {"rmsprop", "rms_prop"},
    {"savedmodel saved_model onnx serving deploy", "export"},
    {"seed random randomness reproducible", "tf_random_seed"},
    {"sgd", "gradient_descent momentum"},
    {"supported unsupported supported_ops unsupported_ops available_ops xla tf2xla graphdef",
     "tpu_ops tpu_errors check"},
    {"svm hinge", "hinge_loss"},
    {"tensorboard event summary", "summaries report save_summary_steps"},
    {"text nlp language_model tokenizer vocabulary", "text split generate lookup"},
    {"textvectorization text_vectorization tokenize token word lowercase",
     "split lookup to_tensor ngrams"},
    {"tflite", "export"},
    {"tfrecord example tf.example", "tfrecord parse_example convert inspect"},
    {"weight variable parameter", "initializers inspect frozen"},
    {"yaml json textproto protobuf config configuration", "fields set RunConfig"},
};

}  // namespace

std::span<const HelpSynonym> HelpSynonyms() { return kSynonyms; }

std::string Singular(const std::string& word) {
  const auto without = [&](size_t letters) { return word.substr(0, word.size() - letters); };
  if (absl::EndsWith(word, "ies")) return without(3) + "y";
  if (absl::EndsWith(word, "sses") || absl::EndsWith(word, "ches")) return without(2);
  return absl::EndsWith(word, "s") && !absl::EndsWith(word, "ss") ? without(1) : word;
}

HelpRelated RelatedHelp(const std::string& word) {
  HelpRelated related;
  const auto add = [&](const std::string& name) {
    const bool there =
        std::find(related.names.begin(), related.names.end(), name) != related.names.end();
    if (name != word && !there) related.names.push_back(name);
  };
  for (const HelpTopic& topic : HelpTopics()) {
    if (Singular(topic.name) == Singular(word)) add(topic.name);
  }
  for (const HelpSynonym& row : kSynonyms) {
    const std::vector<std::string> words = absl::StrSplit(ToAbsl(row.words), ' ');
    const bool of_row = std::any_of(words.begin(), words.end(), [&](const std::string& each) {
      return Singular(each) == Singular(word);
    });
    if (!of_row) continue;
    for (const absl::string_view name : absl::StrSplit(ToAbsl(row.names), ' ')) {
      add(std::string(name));
    }
    related.note = std::string(row.note);
  }
  return related;
}

}  // namespace tpurun
