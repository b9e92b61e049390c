#include "cli/verb_table.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/check.h"
#include "cli/completion.h"
#include "cli/config_command.h"
#include "cli/convert.h"
#include "cli/evaluate.h"
#include "cli/export_command.h"
#include "cli/fabric_flags.h"
#include "cli/help_command.h"
#include "cli/init.h"
#include "cli/init_kinds.h"
#include "cli/inspect_command.h"
#include "cli/predict.h"
#include "cli/profile.h"
#include "cli/report.h"
#include "cli/summary.h"
#include "cli/train.h"
#include "cli/train_and_evaluate.h"
#include "cli/version_command.h"

namespace tpurun {

namespace {

// Of a verb that several processes run together.
Flag HostTimeout() {
  return {.name = "host_timeout",
          .type = Flag::Type::kDouble,
          .value_name = "SECONDS",
          .help = "of several processes, end all if one has not answered for so long (default 30)"};
}

std::vector<Flag> TrainFlags() {
  return {{.name = "max_steps",
           .type = Flag::Type::kInt,
           .value_name = "N",
           .help = "train until global_step is N",
           .sets = "train.max_steps",
           .group = "length"},
          {.name = "steps",
           .type = Flag::Type::kInt,
           .value_name = "N",
           .help = "train N steps more than the checkpoint has",
           .sets = "train.steps",
           .group = "length"},
          {.name = "epochs",
           .type = Flag::Type::kDouble,
           .value_name = "E",
           .help = "train until global_step is E passes over the examples",
           .sets = "train.epochs",
           .group = "length"},
          {.name = "dump_infeed",
           .type = Flag::Type::kPath,
           .value_name = "DIR",
           .help = "write what each core is fed there, the first rows of each step as JSON lines"},
          {.name = "allow_changed_input",
           .type = Flag::Type::kBool,
           .help = "go on with other data: where the input was, or else from its beginning"},
          {.name = "profile_steps",
           .value_name = "A-B",
           .help = "write a profile of these steps to model_dir/plugins/profile, for TensorBoard"},
          {.name = "run_hooks",
           .type = Flag::Type::kBool,
           .help = "run the hooks of a run_config.pbtxt, too"},
          HostTimeout()};
}

std::vector<Flag> TrainAloneFlags() {
  std::vector<Flag> flags = TrainFlags();
  flags.push_back({.name = "fabric",
                   .value_name = "mpi|simulated",
                   .help = "mpi: the processes that mpirun or srun starts (default); simulated: "
                           "--processes of them in this one, for studies of a network"});
  flags.push_back({.name = "processes",
                   .type = Flag::Type::kInt,
                   .value_name = "P",
                   .help = "of --fabric=simulated: a power of 2; each has --worker_threads, here "
                           "by default 1"});
  for (Flag& flag : LinkFlags()) {
    flag.help = absl::StrCat("of --fabric=simulated: ", flag.help);
    flags.push_back(flag);
  }
  return flags;
}

std::vector<Flag> TrainAndEvaluateFlags() {
  std::vector<Flag> flags = TrainFlags();
  flags.push_back({.name = "steps_per_eval",
                   .type = Flag::Type::kInt,
                   .value_name = "N",
                   .help = "evaluate at each multiple of N steps",
                   .sets = "train_and_evaluate.steps_per_eval"});
  return flags;
}

}  // namespace

std::span<const Verb> Verbs() {
  static const auto* const kVerbs = new std::vector<Verb>{
      {.name = "train",
       .doc = "Train the model, going on from the latest checkpoint in model_dir; the result's "
              "loss is the "
              "last step's, a mean over its batch",
       .example = "tpurun train --config=run.textproto --max_steps=2000 | jq .loss",
       .flags = TrainAloneFlags(),
       .takes_config = true,
       .runs = true,
       .joins_processes = true,
       .trains = true,
       .run = TrainCommand},
      {.name = "train_and_evaluate",
       .doc = "Train, and evaluate and export on the way: a line for each evaluation, then train's",
       .example =
           "tpurun train_and_evaluate --config=run.textproto --steps_per_eval=500 | jq .accuracy",
       .flags = TrainAndEvaluateFlags(),
       .takes_config = true,
       .runs = true,
       .joins_processes = true,
       .trains = true,
       .run = TrainAndEvaluateCommand},
      {.name = "evaluate",
       .doc = "Print loss and metrics of a checkpoint",
       .example = "tpurun evaluate --config=run.textproto | jq .accuracy",
       .flags = {{.name = "name",
                  .value_name = "NAME",
                  .help = "which of several evaluations, or all; the events go to eval_NAME"},
                 {.name = "input",
                  .type = Flag::Type::kPaths,
                  .value_name = "FILE,...|-",
                  .help = "all rows of these files, or of standard input, parsed as the "
                          "evaluation's own input; no event file is written"},
                 {.name = "steps",
                  .type = Flag::Type::kInt,
                  .value_name = "N",
                  .help = "batches; default one exact pass over the examples"},
                 {.name = "checkpoint",
                  .type = Flag::Type::kPath,
                  .value_name = "PREFIX|best",
                  .help =
                      "instead of the latest in model_dir; best: the best of train_and_evaluate"},
                 {.name = "allow_untrained",
                  .type = Flag::Type::kBool,
                  .help = "without a checkpoint take fresh variables, as TPUEstimator does"},
                 {.name = "dump_infeed",
                  .type = Flag::Type::kPath,
                  .value_name = "DIR",
                  .help = "write what each core is fed there, the first rows of each step as JSON "
                          "lines"},
                 {.name = "watch",
                  .type = Flag::Type::kBool,
                  .help = "evaluate the newest checkpoint of model_dir whenever it is new, up to "
                          "train.max_steps"},
                 {.name = "timeout",
                  .type = Flag::Type::kInt,
                  .value_name = "SECONDS",
                  .help = "of --watch: end when no new checkpoint has come for so long"},
                 HostTimeout(),
                 {.name = "run_hooks",
                  .type = Flag::Type::kBool,
                  .help = "run the hooks of a run_config.pbtxt, too"}},
       .takes_config = true,
       .runs = true,
       .joins_processes = true,
       .run = EvaluateCommand},
      {.name = "predict",
       .doc = "Print one JSON object for each example, in input order",
       .example = "tpurun predict --config=run.textproto --keys=class_ids | jq .class_ids[0]",
       .flags = {{.name = "keys",
                  .type = Flag::Type::kList,
                  .value_name = "A,B",
                  .help = "only these predictions",
                  .sets = "predict.keys"},
                 {.name = "input",
                  .type = Flag::Type::kPaths,
                  .value_name = "FILE,...|-",
                  .help = "all rows of these files, or of standard input, parsed as predict's own "
                          "input; also images"},
                 {.name = "max_wait_ms",
                  .type = Flag::Type::kInt,
                  .value_name = "N",
                  .help = "run a batch that is not full N ms after its first row; 0: at once, "
                          "each row as it comes (default: wait)",
                  .sets = "predict.max_wait_ms"},
                 {.name = "checkpoint",
                  .type = Flag::Type::kPath,
                  .value_name = "PREFIX|best",
                  .help =
                      "instead of the latest in model_dir; best: the best of train_and_evaluate"},
                 {.name = "allow_untrained",
                  .type = Flag::Type::kBool,
                  .help = "without a checkpoint take fresh variables, as TPUEstimator does"},
                 {.name = "dump_infeed",
                  .type = Flag::Type::kPath,
                  .value_name = "DIR",
                  .help = "write what each core is fed there, the first rows of each step as JSON "
                          "lines"},
                 {.name = "output",
                  .type = Flag::Type::kPath,
                  .value_name = "FILE",
                  .help = "FILE.jsonl or FILE.tfrecord, instead of standard output"},
                 HostTimeout()},
       .takes_config = true,
       .runs = true,
       .joins_processes = true,
       .run = PredictCommand},
      {.name = "export",
       .doc = "Write a trained model for TensorFlow and TF Serving, or as an ONNX file",
       .example =
           "tpurun export --config=run.textproto --export_format=saved_model,onnx | jq -r .path",
       .flags = {{.name = "export_format",
                  .type = Flag::Type::kList,
                  .value_name = "A,B",
                  .help = "saved_model (default), onnx",
                  .sets = "export.export_format"},
                 {.name = "output",
                  .type = Flag::Type::kPath,
                  .value_name = "BASE",
                  .help = "BASE/SECONDS and BASE/onnx/SECONDS; default model_dir/export",
                  .sets = "export.directory"},
                 {.name = "checkpoint",
                  .type = Flag::Type::kPath,
                  .value_name = "PREFIX|best",
                  .help =
                      "instead of the latest in model_dir; best: the best of train_and_evaluate"}},
       .takes_config = true,
       .runs = true,
       .run = ExportCommand},
      {.name = "config",
       .doc = "Print the effective RunConfig and ModelSpec, with the origin of each value",
       .example =
           "tpurun config --config=run.textproto --set train.max_steps=2000 > effective.textproto",
       .takes_config = true,
       .run = ConfigCommand},
      {.name = "summary",
       .doc = "Show layers, parameters and FLOPs, and every mistake and warning of every mode",
       .example = "tpurun summary --config=run.textproto",
       .flags = {{.name = "format",
                  .value_name = kTextOrJson,
                  .help = "aligned columns (default), or one JSON object a line"},
                 {.name = "processes",
                  .type = Flag::Type::kInt,
                  .value_name = "N",
                  .help = "also what each of N processes sends in a step of train; without "
                          "tpu_config.num_shards each has 8 cores"},
                 {.name = "step_seconds",
                  .type = Flag::Type::kDouble,
                  .value_name = "S",
                  .help =
                      "with --processes: forecast the step of 1, 2, 4 ... N processes from that "
                      "of one, S seconds, for 10 and 100 Gbit/s Ethernet (help scaling)"},
                 LinkFlags()[0],
                 LinkFlags()[1]},
       .takes_config = true,
       .run = SummaryCommand},
      {.name = "check",
       .doc = "Say whether a Cloud TPU takes the model, whether it fits into its memory, and how "
              "long a step is",
       .example = "tpurun check --config=run.textproto --accelerator_type=v3-8\n"
                  "  tpurun check --config=run.textproto --numerics --steps=200\n"
                  "  tpurun check --saved_model=DIR",
       .flags = {{.name = "accelerator_type",
                  .value_name = "TYPE",
                  .help = "v2-8 (default), v2-32, ..., v3-8, v3-32, ...; v4-8, ... as an estimate"},
                 {.name = "format",
                  .value_name = kTextOrJson,
                  .help = "tables (default), or one JSON object a line"},
                 {.name = "trace",
                  .type = Flag::Type::kPath,
                  .value_name = "FILE",
                  .help = "write the forecast step as a trace for ui.perfetto.dev and "
                          "chrome://tracing"},
                 {.name = "measure_input",
                  .type = Flag::Type::kBool,
                  .help = "also read train.input for 2 seconds: how many threads of a host its "
                          "share of the examples needs"},
                 {.name = "host_examples_per_second",
                  .type = Flag::Type::kDouble,
                  .value_name = "N",
                  .help = "what the input of each host makes: a step waits for it"},
                 {.name = "numerics",
                  .type = Flag::Type::kBool,
                  .help = "instead: train with the precisions DEFAULT, HIGH, HIGHEST and F32, and "
                          "compare"},
                 {.name = "steps",
                  .type = Flag::Type::kInt,
                  .value_name = "N",
                  .help = "with --numerics: steps to train (default 100)"},
                 {.name = "saved_model",
                  .type = Flag::Type::kPath,
                  .value_name = "PATH",
                  .help = "instead: which ops of a SavedModel or GraphDef a TPU has; needs no "
                          "--config"}},
       .takes_config = true,
       .runs = true,
       .run = CheckCommand},
      {.name = "profile",
       .doc = "Show where the time of a step goes: by layer, op and instruction, in workers, input "
              "and memory",
       .example = "tpurun profile --config=run.textproto\n"
                  "  tpurun profile --config=run.textproto --format=json > before.json\n"
                  "  tpurun profile --config=run.textproto --compare=before.json",
       .flags = {{.name = "mode",
                  .value_name = "MODE",
                  .help = "train (default), evaluate or predict"},
                 {.name = "steps",
                  .type = Flag::Type::kInt,
                  .value_name = "N",
                  .help = "steps to measure; default as many as take 2 seconds, 10 to 1000"},
                 {.name = "checkpoint",
                  .type = Flag::Type::kPath,
                  .value_name = "PREFIX|best",
                  .help = "instead of the latest in model_dir; without one, fresh variables"},
                 {.name = "format",
                  .value_name = kTextOrJson,
                  .help = "tables (default), or one JSON object (proto/profile.proto)"},
                 {.name = "trace",
                  .type = Flag::Type::kPath,
                  .value_name = "FILE",
                  .help = "write a trace for ui.perfetto.dev and chrome://tracing"},
                 {.name = "accelerator_type",
                  .value_name = "TYPE",
                  .help = "with --trace: the forecast of a step on this Cloud TPU beside the "
                          "measured steps, as check --trace writes it"},
                 {.name = "compare",
                  .type = Flag::Type::kPath,
                  .value_name = "FILE",
                  .help = "list the layers that are slower than in this JSON profile"},
                 {.name = "quick_test",
                  .type = Flag::Type::kBool,
                  .help = "instead: the FLOPS of a product of ones on 8 cores; needs no --config"},
                 HostTimeout()},
       .takes_config = true,
       .runs = true,
       .joins_processes = true,
       .run = ProfileCommand},
      {.name = "convert",
       .doc = "Make TFRecord files of tf.Examples: of idx (MNIST's), cifar, csv or text files, of "
              "folders of images, of imagenet, or synthetic digits, shapes or sentence_pairs",
       .arguments = "KIND INPUT... --output=PREFIX",
       .example =
           "tpurun convert idx train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz "
           "--output=train.tfrecord\n"
           "  zcat digits.csv.gz | tpurun convert csv - --output=digits.tfrecord "
           "--features=image_raw:bytes:0-63,label:int64:64\n"
           "  tpurun convert images photos --end=0.9 --shards=16 --output=train\n"
           "  tpurun convert imagenet ILSVRC2012_img_train.tar --shards=1024 --output=train\n"
           "  tpurun convert synthetic shapes --examples=8000 --seed=1 --output=shapes.tfrecord",
       .flags =
           {{.name = "output",
             .type = Flag::Type::kPath,
             .value_name = "PREFIX",
             .help = "the file, or PREFIX-00000-of-00002, ... of several shards; - is standard "
                     "output, without a result"},
            {.name = "shards",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "files to write, record i into file i % N (default 1)"},
            {.name = "compression",
             .value_name = "NAME",
             .help = "NONE (default), GZIP or ZLIB; the name of the file does not matter"},
            {.name = "features",
             .type = Flag::Type::kList,
             .value_name = "A,B",
             .help = "csv: NAME:KIND:COLUMNS each; KIND bytes, string, int64 or float, COLUMNS "
                     "from 0, such as 0-26+28-63"},
            {.name = "skip_lines",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help =
                 "csv: leave out lines at the start of every file (default 0); images: of every "
                 "CSV file"},
            {.name = "delimiter",
             .value_name = "C",
             .help = "csv: the character between two columns, or tab (default ,)"},
            {.name = "classes",
             .type = Flag::Type::kInt,
             .value_name = "10|100",
             .help = "cifar: CIFAR-10 or CIFAR-100; default what the size of the files says"},
            {.name = "sequence_length",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "text: characters of a window; synthetic: tokens of sentence_pairs, 16 "
                     "to 65536 (default 128)"},
            {.name = "shift",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "text: characters from one window to the next (default sequence_length)"},
            {.name = "streams",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "text: deal it into streams, a window of each in turn, as the source text "
                     "does; records say in \"start\" whether their stream begins (default: no)"},
            {.name = "vocabulary",
             .type = Flag::Type::kPath,
             .value_name = "FILE",
             .help = "text: what ids stand for, a character a line; default all characters of "
                     "the files; it is written as vocabulary.txt beside PREFIX"},
            {.name = "examples",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "synthetic: how many to draw"},
            {.name = "size",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "synthetic: pixels of a side of digits (default 28) and shapes "
                     "(default 32), 16 to 2048"},
            {.name = "encode",
             .value_name = "JPEG|PNG",
             .help = "synthetic: digits and shapes as encoded images, with the features of "
                     "convert images"},
            {.name = "masks",
             .type = Flag::Type::kBool,
             .help = "synthetic: of digits and shapes also mask_raw, a byte for each pixel: its "
                     "label + 1 at the figure, 0 elsewhere; not with --encode"},
            {.name = "begin",
             .type = Flag::Type::kDouble,
             .value_name = "SHARE",
             .help = "images: write those from this share of all on, in their random order "
                     "(default 0); imagenet: the same"},
            {.name = "end",
             .type = Flag::Type::kDouble,
             .value_name = "SHARE",
             .help = "images: and up to this share (default 1); 0.9 and --begin=0.9 hold out a "
                     "tenth; imagenet: the same"},
            {.name = "labels",
             .type = Flag::Type::kPath,
             .value_name = "FILE",
             .help = "imagenet: the synset of each flat file, a line each in the order of the "
                     "names of the files"},
            {.name = "synsets",
             .type = Flag::Type::kPath,
             .value_name = "FILE",
             .help = "imagenet: lines SYNSET or SYNSET WORDS in the order of the labels from 1; "
                     "default those of the images, sorted"},
            {.name = "bounding_boxes",
             .type = Flag::Type::kPath,
             .value_name = "FILE",
             .help = "images: a CSV file of rows NAME,XMIN,YMIN,XMAX,YMAX, shares of the image; "
                     "imagenet: the same"},
            {.name = "vocabulary_size",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "synthetic: ids of sentence_pairs, at least 32 (default 64), of which 0 "
                     "to 3 are [PAD], [CLS], [SEP] and [MASK]"},
            {.name = "max_predictions_per_seq",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "synthetic: the most masked tokens of a record of sentence_pairs, to "
                     "which its lists are filled up (default 20)"},
            {.name = "seed",
             .type = Flag::Type::kInt,
             .value_name = "N",
             .help = "images: what their order is drawn from (default 0); imagenet: the same; "
                     "synthetic: what all of "
                     "them are drawn from (default 0)"}},
       .min_arguments = 2,
       .max_arguments = 1000,
       .first_path = 1,
       .choices = ConvertChoices,
       .run = ConvertCommand},
      {.name = "init",
       .doc = "Write run.textproto and model.textproto for tables, series, texts, images or "
              "TFRecord files",
       .arguments = "KIND FILE... --output=DIR",
       .example =
           "tpurun init csv iris.csv --label=species --output=iris\n"
           "  tpurun init csv train.csv --eval=test.csv --output=iris2\n"
           "  tpurun init series power.csv --window=48 --horizon=24 --output=power\n"
           "  tpurun init jsonl visits.jsonl --label=/user/age --output=visits\n"
           "  tpurun init images photos --output=photos_model\n"
           "  tpurun init text mails --output=mails_model  # mails/spam/1.txt, mails/ham/2.txt\n"
           "  tpurun init text mails.tsv --output=mails2   # lines LABEL<TAB>TEXT\n"
           "  tpurun train --config=iris/run.textproto\n"
           "  tpurun evaluate --config=iris/run.textproto",
       .flags = InitFlags(),
       .min_arguments = 2,
       .max_arguments = 1000,
       .first_path = 1,
       .choices = InitKindNames,
       .run = InitCommand},
      {.name = "inspect",
       .doc =
           "Show what a checkpoint, SavedModel, ONNX, event or TFRecord file holds, or the images "
           "that an input feeds",
       .arguments = "PATH | --png=FILE",
       .example = "tpurun inspect /tmp/tpurun/iris --format=json | jq -r .name\n"
                  "  tpurun inspect --png=images.png --config=run.textproto",
       .flags = {{.name = "format",
                  .value_name = kTextOrJson,
                  .help = "aligned columns (default), or one JSON object a line"},
                 {.name = "limit",
                  .type = Flag::Type::kInt,
                  .value_name = "N",
                  .help = "of a TFRecord file: the first N records, with the values of their "
                          "features; of --png: the first N rows, 1 to 1024 (default 32)"},
                 {.name = "png",
                  .type = Flag::Type::kPath,
                  .value_name = "FILE",
                  .help = "write the images of the first rows that the input of --config feeds, "
                          "after all transforms, as one PNG; - is standard output"},
                 {.name = "mode",
                  .value_name = "MODE",
                  .help = "of --png: the input of train (default), evaluate or predict"},
                 {.name = "name",
                  .value_name = "NAME",
                  .help = "of --png: which of several evaluations"},
                 {.name = "feature",
                  .value_name = "NAME",
                  .help = "of --png: the feature to show; default the first that is an image"}},
       .takes_config = true,
       .max_arguments = 1,
       .first_path = 0,
       .run = InspectCommand},
      {.name = "report",
       .doc = "Show runs side by side: curves, metrics and what differs in their settings",
       .arguments = "DIR...",
       .example = "tpurun report /tmp/tpurun/iris --output=report.html",
       .flags = {{.name = "output",
                  .type = Flag::Type::kPath,
                  .value_name = "FILE",
                  .help = "one HTML page, which needs no server and no network; never the text "
                          "or JSON of --format"},
                 {.name = "text",
                  .type = Flag::Type::kBool,
                  .help = "curves and table on standard output"},
                 {.name = "format",
                  .value_name = kTextOrJson,
                  .help = "json: metrics and hyperparameters, one object on standard output; text: "
                          "as --text"},
                 {.name = "sort_by",
                  .value_name = "METRIC",
                  .help = "the best run first, by a metric such as loss or eval/accuracy"},
                 {.name = "mode",
                  .value_name = "MIN|MAX",
                  .help =
                      "which values of --sort_by are better; default by the name of the metric"},
                 {.name = "width",
                  .type = Flag::Type::kInt,
                  .value_name = "COLUMNS",
                  .help = "of --text; default the terminal's, or 80"},
                 {.name = "accelerator_type",
                  .value_name = "TYPE",
                  .help = "what check says of each training on this Cloud TPU, such as v3-8"}},
       .min_arguments = 1,
       .max_arguments = 1000,
       .first_path = 0,
       .run = ReportCommand},
      {.name = "help",
       .doc = "Show a verb's flags, a page of the manual, or what a layer, a field or an exit code "
              "means",
       .arguments = "[VERB|PAGE|TOPIC|NAME]",
       .example = "tpurun help dense",
       .flags = {{.name = "search",
                  .value_name = "WORD",
                  .help = "every verb, flag, topic, layer, field and op with the word in its name "
                          "or text"},
                 {.name = "man",
                  .type = Flag::Type::kBool,
                  .help = "the manual page, in roff: tpurun help --man | man -l -"}},
       .max_arguments = 4,  // "learning rate"
       .choices = HelpChoices,
       .run = HelpCommand},
      {.name = "completion",
       .doc = "Print what makes a shell complete verbs, flags, paths and values",
       .arguments = "bash|zsh",
       .example = "tpurun completion bash > ~/.local/share/bash-completion/completions/tpurun",
       .min_arguments = 1,
       .max_arguments = 10000,
       .choices = CompletionChoices,
       .run = CompletionCommand},
      {.name = "version",
       .doc = "Print the version and the libraries tpurun was built with",
       .example = "tpurun version",
       .run = VersionCommand},
  };
  return *kVerbs;
}

}  // namespace tpurun
