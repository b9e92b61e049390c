// What is wrong with a model spec beside its layers, as ParseModel says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "tests/models/iris_spec.h"
#include "tests/models/mistake.h"

namespace tpurun {
namespace {

const std::vector<Mistake>& Mistakes() {
  static const std::vector<Mistake>& mistakes = *new std::vector<Mistake>{
      // ---- names
      {"a name twice", IrisWith(7, R"(layer { name: "Species" dense { units: 3 } })"),
       "model.textproto:7:9: layer 2 \"Species\": the name \"Species\" is taken by label 0 "
       "\"Species\"; features, labels, layers and losses share one name space\n"
       "model.textproto:8:25: head 0: logits: nothing is called \"logits\" (known: SepalLength, "
       "SepalWidth, Species, features, hidden)"},
      {"a layer's name", IrisWith(6, R"(layer { name: "../hidden" dense { units: 10 } })"),
       "model.textproto:6:9: layer 1 \"../hidden\": got the name \"../hidden\", want parts joined "
       "by /, each of letters, digits and _ . - but not \".\" or \"..\", beginning with neither _ "
       "nor -"},
      {"names with control characters", R"(feature { name: "x\n\033[2Jy" }
label { name: "\302\233" }
loss { name: "\177" mean_squared_error { labels: "\302\233" predictions: "x\n\033[2Jy" } }
prediction { name: "\t" tensor: "x\n\033[2Jy" }
eval_metric { name: "\377" mean { values: "x\n\033[2Jy" } }
optimizer { name: "a/" gradient_descent {} learning_rate { constant: 1 } }
name: "m\r")",
       "model.textproto:1:11: feature 0 \"x\\n\\033[2Jy\": got the name \"x\\n\\033[2Jy\", want "
       "printable text (UTF-8)\n"
       "model.textproto:2:9: label 0 \"\\302\\233\": got the name \"\\302\\233\", want printable "
       "text (UTF-8)\n"
       "model.textproto:3:8: loss 0 \"\\177\": got the name \"\\177\", want printable text "
       "(UTF-8)\n"
       "model.textproto:4:14: prediction 0 \"\\t\": got the name \"\\t\", want printable text "
       "(UTF-8)\n"
       "model.textproto:5:15: eval_metric 0 \"\\377\": got the name \"\\377\", want printable text "
       "(UTF-8)\n"
       "model.textproto:6:13: optimizer 0 \"a/\": got the name \"a/\", want parts joined by /, "
       "each of letters, digits "
       "and _ . - but not \".\" or \"..\", beginning with neither _ nor -\n"
       "model.textproto:7:1: model: got the name \"m\\r\", want printable text (UTF-8)"},
      {"a name twice, of a layer that a head reads",
       IrisWith(7, R"(layer { name: "logits" dense { units: 3 } }
layer { name: "logits" dense { units: 2 } })"),
       "model.textproto:8:9: layer 3 \"logits\": the name \"logits\" is taken by layer 2 "
       "\"logits\"; "
       "features, labels, layers and losses share one name space"},
      {"a name of a checkpoint's own",
       IrisWith(6, R"(layer { name: "tpurun/core/a" dense { units: 3 } })"),
       "model.textproto:6:9: layer 1 \"tpurun/core/a\": the name \"tpurun/core/a\" is reserved; "
       "choose another"},
      {"a reserved name", IrisWith(6, R"(layer { name: "global_step" dense { units: 3 } })"),
       "model.textproto:6:9: layer 1 \"global_step\": the name \"global_step\" is reserved; choose "
       "another"},
      {"a feature without a name", "feature {}\nfeature { name: \"row_weight\" }",
       "model.textproto:1:1: feature 0 \"\": name is missing\n"
       "model.textproto:2:11: feature 1 \"row_weight\": the name \"row_weight\" is reserved; "
       "choose another"},
      {"a feature of a size that is no 32-bit number",
       "feature { name: \"x\" shape: [4294967296, 2] }",
       "model.textproto:1:21: feature 0 \"x\": a dimension must be in [1, 2147483648] (the batch "
       "is not one of them), got 4294967296"},
      {"strings", "feature { name: \"x\" dtype: STRING shape: 0 }",
       "model.textproto:1:21: feature 0 \"x\": dtype STRING is not a supported TPU infeed "
       "type, want FLOAT32, BFLOAT16, INT32, INT64, UINT32 or BOOL; have the input make numbers of "
       "it: transform { lookup {} } makes ids, decode_raw reads bytes\n"
       "model.textproto:1:35: feature 0 \"x\": must have static shape: a dimension must be in [1, "
       "2147483648] (the batch is not one of them), got 0 of [?]; write how many the input makes"},
      {"bytes", "feature { name: \"x\" dtype: UINT8 shape: 3 }\nlabel { name: \"y\" dtype: UINT8 }",
       "model.textproto:1:21: feature 0 \"x\": dtype UINT8 is not a supported TPU infeed type, "
       "want "
       "FLOAT32, BFLOAT16, INT32, INT64, UINT32 or BOOL; declare FLOAT32 and add to the input "
       "transform { cast { feature: \"x\" dtype: FLOAT32 } }\n"
       "model.textproto:2:19: label 0 \"y\": dtype UINT8 is not a supported TPU infeed type, want "
       "FLOAT32, BFLOAT16, INT32, INT64, UINT32 or BOOL; declare INT32 and add to the input "
       "transform { cast { feature: \"y\" dtype: INT32 } }"},
      {"what no input makes", "feature { name: \"x\" dtype: COMPLEX64 }",
       "model.textproto:1:21: feature 0 \"x\": dtype COMPLEX64 cannot be fed, want FLOAT32, "
       "BFLOAT16, INT32, INT64, UINT32 or BOOL"},
      // ---- heads, losses, metrics, predictions
      {"head without arguments", IrisWith(8, "head { classification {} }"),
       "model.textproto:8:8: head 0: logits is missing\n"
       "model.textproto:8:8: head 0: label is missing"},
      {"logits that are no matrix",
       IrisWith(8, R"(head { classification { logits: "SepalWidth" label: "Species" } })"),
       "model.textproto:8:25: head 0: logits must be f32[N,C], one value for each class, or "
       "f32[N,1] "
       "for two, got \"SepalWidth\" of f32[N]"},
      {"one logit of a label of floats", R"(feature { name: "x" shape: 2 }
label { name: "y" }
label { name: "w" shape: 3 }
layer { name: "logits" dense { units: 1 } input: "x" }
head { classification { logits: "logits" label: "y" } }
head { name: "b" classification { logits: "logits" label: "w" } })",
       "model.textproto:5:8: head 0: labels must be class ids, INT32 or INT64, got f32[N]\n"
       "model.textproto:6:18: head 1 \"b\": labels must be class ids, INT32 or INT64, got "
       "f32[N,3]"},
      {"one logit of labels and weights that do not fit", R"(feature { name: "x" shape: 2 }
label { name: "y" dtype: INT32 shape: 3 }
label { name: "z" dtype: INT32 }
label { name: "w" shape: 3 }
layer { name: "logits" dense { units: 1 } input: "x" }
head { classification { logits: "logits" label: "y" } }
head { name: "b" classification { logits: "logits" label: "z" weights: "w" } })",
       "model.textproto:6:8: head 0: labels and logits must have one shape, got labels f32[N,3] "
       "and "
       "logits f32[N,1]\n"
       "model.textproto:7:63: head 1 \"b\": weights must be of shape [N] or f32[N,1], got \"w\" of "
       "f32[N,3]"},
      {"a label of floats", IrisWith(4, R"(label { name: "Species" })"),
       "model.textproto:8:8: head 0: labels must be class ids, INT32 or INT64, got f32[N]"},
      {"a label of vectors", IrisWith(4, R"(label { name: "Species" dtype: INT32 shape: 2 })"),
       "model.textproto:8:8: head 0: labels must be one class id for each row of logits, want "
       "s32[N], got s32[N,2] for logits f32[N,3]"},
      {"ignore_class", R"(feature { name: "x" shape: 2 ignore_class: 0 }
label { name: "y" ignore_class: 0 }
label { name: "z" dtype: INT32 ignore_class: 4294967296 })",
       "model.textproto:1:30: feature 0 \"x\": only a label of class ids, INT32 or INT64, has one, "
       "got a feature, FLOAT32\n"
       "model.textproto:2:19: label 0 \"y\": only a label of class ids, INT32 or INT64, has one, "
       "got a label, FLOAT32\n"
       "model.textproto:3:32: label 1 \"z\": ignore_class must be an INT32 as the label is, got "
       "4294967296"},
      {"ignore_class of other types", R"(label { name: "a" dtype: BOOL ignore_class: 0 }
label { name: "b" dtype: INT32 ignore_class: 1 })",
       "model.textproto:1:31: label 0 \"a\": only a label of class ids, INT32 or INT64, has one, "
       "got "
       "a label, BOOL"},
      {"ignore_class of names", R"(feature { name: "x" shape: 2 }
label { name: "y" dtype: STRING ignore_class: 1 }
head { classification { logits: "x" label: "y" label_vocabulary: ["a", "b"] } })",
       "model.textproto:2:33: label 0 \"y\": only a label of class ids, INT32 or INT64, has one, "
       "got "
       "a label, STRING"},
      {"ignore_class of several classes of an example", R"(feature { name: "x" shape: 2 }
label { name: "y" dtype: INT32 shape: 2 ignore_class: 9 }
head { multi_label { logits: "x" label: "y" } })",
       "model.textproto:3:34: head 0: a label with ignore_class must have one class id for each of "
       "the values f32[N] that count or not, got f32[N,2]"},
      {"label_smoothing",
       IrisWith(
           8,
           R"(head { classification { logits: "logits" label: "Species" label_smoothing: 1 } })"),
       "model.textproto:8:59: head 0: label_smoothing must be in [0, 1), got 1"},
      {"heads of nothing and of no kind", IrisWith(8, "head { multi_label {} }\nhead {}"),
       "model.textproto:8:8: head 0: logits is missing\n"
       "model.textproto:8:8: head 0: label is missing\n"
       "model.textproto:9:1: head 1: no kind of head is given, want one of: classification, "
       "multi_label, regression, sequence"},
      {"names and weights of classes", IrisWith(8, R"(head { classification {
  logits: "logits" label: "Species" label_vocabulary: ["a", "b", "a"] class_weight: [1, -1] pos_weight: 2 } })"),
       "model.textproto:9:37: head 0: the name \"a\" is there already, for class 0\n"
       "model.textproto:9:71: head 0: class_weight[1] must be >= 0 and finite, got -1\n"
       "model.textproto:9:71: head 0: class_weight: got 2 values, want 3, one for each class\n"
       "model.textproto:9:93: head 0: pos_weight is for one logit; with a logit for each class use "
       "class_weight"},
      {"weights of classes that are all 0", IrisWith(8, R"(head { classification {
  logits: "logits" label: "Species" class_weight: [0, 0, 0] } })"),
       "model.textproto:9:37: head 0: class_weight: got 0 for every class, so that nothing would "
       "be "
       "trained; want one > 0"},
      {"names of classes of a sequence", R"(feature { name: "x" shape: [4, 2] }
label { name: "y" dtype: STRING shape: 4 }
layer { name: "z" dense { units: 2 } input: "x" }
head { sequence { logits: "z" label: "y" label_vocabulary: ["a", "b", "c"] } }
head { name: "b" sequence { logits: "z" label: "y" label_vocabulary: ["b", "a"] } })",
       "model.textproto:4:42: head 0: label_vocabulary: got 3 names, want 2, one for each class of "
       "the logits\n"
       "model.textproto:5:52: head 1 \"b\": label_vocabulary: an earlier head has other names for "
       "the label \"y\"; heads of one label need the same"},
      {"names of classes that cannot be", IrisWith(8, R"(head { classification {
  logits: "logits" label: "Species" label_vocabulary: ["a", "", "\377"] } })"),
       "model.textproto:9:37: head 0: label_vocabulary: want a name in UTF-8, got \"\"\n"
       "model.textproto:9:37: head 0: label_vocabulary: want a name in UTF-8, got \"\\377\""},
      {"two lists of names for one label", R"(feature { name: "x" shape: 2 }
label { name: "y" dtype: STRING }
layer { name: "z" dense { units: 2 } input: "x" }
head { classification { logits: "z" label: "y" label_vocabulary: ["a", "b"] } }
head { name: "b" classification { logits: "z" label: "y" label_vocabulary: ["b", "a"] } })",
       "model.textproto:5:58: head 1 \"b\": label_vocabulary: an earlier head has other names for "
       "the label \"y\"; heads of one label need the same"},
      {"metrics with the names of other results",
       absl::StrCat(kIris, R"(eval_metric { name: "examples" mean { values: "logits" } })"),
       "model.textproto:10:15: eval_metric 0 \"examples\": the name \"examples\" is reserved; "
       "choose another"},
      {"a label in another unit", R"(feature { name: "x" shape: 2 }
label { name: "y" shape: 2 }
layer { name: "z" dense { units: 2 } input: "x" }
head { regression { logits: "z" label: "y" label_mean: [1, 2, 3] label_stddev: 0 } })",
       "model.textproto:4:44: head 0: label_mean: got 3 values, want one, or 2, one for each "
       "column\n"
       "model.textproto:4:66: head 0: label_stddev[0] must be > 0 and finite, got 0"},
      {"a loss that is no number", R"(feature { name: "x" shape: 2 }
layer { name: "z" dense { units: 2 } input: "x" }
loss { name: "l" mean_squared_error { labels: "x" predictions: "z" } reduction: NONE }
loss { name: "s" sigmoid_cross_entropy { labels: "x" logits: "z" pos_weight: [1, 2, 3] } }
optimizer { gradient_descent {} learning_rate { constant: 1 } loss: "l" })",
       "model.textproto:4:66: loss 1 \"s\": pos_weight: got 3 values, want one, or 2, one for each "
       "index of the last dimension of logits f32[N,2]\n"
       "model.textproto:5:63: optimizer 0 \"gradient_descent\": the loss \"l\" has reduction: "
       "NONE, "
       "and only one number can be minimized"},
      {"a sequence head of examples",
       IrisWith(8, R"(head { sequence { logits: "logits" label: "Species" label_smoothing: 2 } }
head { name: "b" sequence {} })"),
       "model.textproto:8:19: head 0: logits must be f32[N,T,C] or f32[N,H,W,C], one value for "
       "each class at each "
       "position, got \"logits\" of f32[N,3]\n"
       "model.textproto:8:53: head 0: label_smoothing must be in [0, 1), got 2\n"
       "model.textproto:9:18: head 1 \"b\": logits is missing\n"
       "model.textproto:9:18: head 1 \"b\": label is missing"},
      {"sequence heads that do not fit", R"(feature { name: "z" shape: [4, 3] }
feature { name: "one" shape: [4, 1] }
label { name: "y" dtype: INT32 shape: 4 }
label { name: "f" shape: 4 }
label { name: "short" dtype: INT32 shape: 3 }
label { name: "w" shape: 3 }
head { name: "a" sequence { logits: "one" label: "y" } }
head { name: "b" sequence { logits: "z" label: "f" } }
head { name: "c" sequence { logits: "z" label: "short" } }
head { name: "d" sequence { logits: "z" label: "y" weights: "w" } }
head { name: "e" sequence { logits: "z" label: "y" label_smoothing: 1 } })",
       "model.textproto:7:29: head 0 \"a\": a sequence of one logit is not supported yet, got "
       "\"one\" of f32[N,4,1]; use one logit for each of the two classes\n"
       "model.textproto:8:18: head 1 \"b\": labels must be class ids, INT32 or INT64, got "
       "f32[N,4]\n"
       "model.textproto:9:18: head 2 \"c\": labels must be one class id for each row of logits, "
       "want s32[N,4], got s32[N,3] for logits f32[N,4,3]\n"
       "model.textproto:10:52: head 3 \"d\": weights must be of shape [N] or f32[N,4], got \"w\" "
       "of f32[N,3]\n"
       "model.textproto:11:52: head 4 \"e\": label_smoothing must be in [0, 1), got 1"},
      {"two heads", IrisWith(8, R"(head { classification { logits: "logits" label: "Species" } }
head { classification { logits: "logits" label: "Species" } })"),
       "model.textproto:9:1: head 1: it has no name, and head 0 is a classification without a name "
       "too; give one of them a name"},
      {"losses", R"(feature { name: "x" shape: 2 }
label { name: "y" }
loss { name: "a" softmax_cross_entropy {} }
loss { name: "b" mean_squared_error { labels: "y" predictions: "x" } }
loss { name: "c" mean_squared_error { labels: "x" predictions: "x" weights: "nowhere" logits: "x" } }
loss { mean_squared_error { labels: "x" predictions: "x" } }
loss { name: "e" }
loss { name: "f" mean_squared_error { labels: "nowhere" predictions: "x" } }
loss { name: "g" mean_squared_error { labels: "x" predictions: "nowhere" } })",
       absl::StrCat(
           "model.textproto:3:18: loss 0 \"a\": labels is missing\n"
           "model.textproto:3:18: loss 0 \"a\": logits is missing\n"
           "model.textproto:4:18: loss 1 \"b\": labels and predictions must have one "
           "shape, got labels "
           "f32[N] and predictions f32[N,2]\n"
           "model.textproto:5:68: loss 2 \"c\": weights: nothing is called \"nowhere\" "
           "(known: a, b, "
           "x, y)\n"
           "model.textproto:5:87: loss 2 \"c\": logits is of hinge_loss, sigmoid_cross_entropy, "
           "softmax_cross_entropy, sparse_softmax_cross_entropy, not of "
           "mean_squared_error; leave it out\n"
           "model.textproto:6:1: loss 3: name is missing\n"
           "model.textproto:7:1: loss 4 \"e\": no kind of loss is given, want one of: ",
           Kinds(LossList()),
           "\n"
           "model.textproto:8:39: loss 5 \"f\": labels: nothing is called \"nowhere\" "
           "(known: a, b, c, "
           "e, x, y)\n"
           "model.textproto:9:51: loss 6 \"g\": predictions: nothing is called "
           "\"nowhere\" (known: a, "
           "b, c, e, f, x, y)")},
      {"arguments of losses", R"(feature { name: "x" shape: 2 }
feature { name: "ids" dtype: INT32 }
label { name: "y" shape: 3 }
loss { name: "a" softmax_cross_entropy { labels: "y" logits: "x" } }
loss { name: "b" softmax_cross_entropy { labels: "x" logits: "ids" } }
loss { name: "c" sigmoid_cross_entropy { labels: "x" logits: "x" label_smoothing: -0.5 } }
loss { name: "d" sigmoid_cross_entropy { labels: "ids" logits: "ids" } }
loss { name: "e" log_cosh { labels: "y" predictions: "x" label_smoothing: 0.5 } }
loss { name: "f" huber_loss { labels: "x" predictions: "x" delta: 0 } })",
       "model.textproto:4:18: loss 0 \"a\": labels and logits must have one shape, got labels "
       "f32[N,3] and logits f32[N,2]\n"
       "model.textproto:5:18: loss 1 \"b\": logits must be f32[N,C], one value for each class, got "
       "s32[N]\n"
       "model.textproto:6:66: loss 2 \"c\": label_smoothing must be in [0, 1), got -0.5\n"
       "model.textproto:7:18: loss 3 \"d\": logits must be f32, got s32[N]\n"
       "model.textproto:8:18: loss 4 \"e\": labels and predictions must have one shape, got labels "
       "f32[N,3] and predictions f32[N,2]\n"
       "model.textproto:8:58: loss 4 \"e\": label_smoothing is of sigmoid_cross_entropy, "
       "softmax_cross_entropy, sparse_softmax_cross_entropy, not of log_cosh; leave it out\n"
       "model.textproto:9:60: loss 5 \"f\": delta must be > 0 and finite, got 0"},
      {"weights", R"(feature { name: "x" shape: 2 }
feature { name: "w" shape: 3 }
loss { name: "c" mean_squared_error { labels: "x" predictions: "x" weights: "w" } })",
       "model.textproto:3:68: loss 0 \"c\": weights must be of shape [N] or f32[N,2], got \"w\" of "
       "f32[N,3]"},
      {"metrics", absl::StrCat(kIris, R"(eval_metric { name: "accuracy" mean { values: "logits" } }
eval_metric { name: "loss" mean { values: "logits" } }
eval_metric { name: "auc" auc {} }
eval_metric { name: "k" accuracy { labels: "logits" predictions: "logits" k: 5 } }
eval_metric { mean { values: "logit" } })"),
       "model.textproto:11:15: eval_metric 1 \"loss\": the name \"loss\" is reserved; choose "
       "another\n"
       "model.textproto:12:27: eval_metric 2 \"auc\": labels is missing\n"
       "model.textproto:12:27: eval_metric 2 \"auc\": predictions is missing\n"
       "model.textproto:13:25: eval_metric 3 \"k\": labels must be class ids, INT32 or INT64, got "
       "f32[N,3]\n"
       "model.textproto:13:75: eval_metric 3 \"k\": k is of in_top_k, not of accuracy; leave it "
       "out\n"
       "model.textproto:14:1: eval_metric 4: name is missing\n"
       "model.textproto:14:22: eval_metric 4: values: nothing is called \"logit\", did you mean "
       "\"logits\"?"},
      {"arguments of metrics",
       absl::StrCat(kIris,
                    R"(eval_metric { name: "a" auc { labels: "Species" predictions: "logits" } }
eval_metric { name: "b" in_top_k { labels: "Species" predictions: "logits" k: 0 } }
eval_metric { name: "c" in_top_k { labels: "logits" predictions: "logits" } }
eval_metric { name: "d" in_top_k { labels: "Species" predictions: "SepalWidth" } }
eval_metric { name: "e" recall { labels: "Species" predictions: "logits" k: 1 values: "logits" } })"),
       "model.textproto:10:25: eval_metric 0 \"a\": labels and predictions must have one shape, "
       "got labels s32[N] and predictions f32[N,3]\n"
       "model.textproto:11:76: eval_metric 1 \"b\": k must be > 0, got 0\n"
       "model.textproto:12:25: eval_metric 2 \"c\": labels must be class ids, INT32 or INT64 [N], "
       "got f32[N,3]\n"
       "model.textproto:13:25: eval_metric 3 \"d\": predictions must be f32[N,C] or [N,T,C], "
       "one value for each class, got f32[N]\n"
       "model.textproto:14:25: eval_metric 4 \"e\": labels and predictions must have one shape, "
       "got labels s32[N] and predictions f32[N,3]\n"
       "model.textproto:14:79: eval_metric 4 \"e\": values is of mean, not of recall; leave it "
       "out"},
      {"confusion matrices", absl::StrCat(kIris, R"(feature { name: "id" dtype: INT64 }
feature { name: "ids" dtype: INT64 shape: 2 }
layer { name: "many" dense { units: 257 } input: "logits" }
eval_metric { name: "a" confusion_matrix { labels: "Species" predictions: "id" } }
eval_metric { name: "b" confusion_matrix { labels: "Species" predictions: "id" num_classes: 0 } }
eval_metric { name: "c" confusion_matrix { labels: "Species" predictions: "id" num_classes: 257 } }
eval_metric { name: "d" confusion_matrix { labels: "Species" predictions: "logits" num_classes: 4 } }
eval_metric { name: "e" confusion_matrix { labels: "Species" predictions: "many" } }
eval_metric { name: "f" confusion_matrix { labels: "Species" predictions: "many" num_classes: 257 } }
eval_metric { name: "g" confusion_matrix { labels: "id" predictions: "ids" num_classes: 3 } }
eval_metric { name: "h" confusion_matrix { labels: "logits" predictions: "logits" } }
eval_metric { name: "i" confusion_matrix { labels: "Species" predictions: "SepalWidth" } }
eval_metric { name: "j" confusion_matrix { labels: "Species" predictions: "logits" k: 2 } }
eval_metric { name: "k" accuracy { labels: "Species" predictions: "logits" num_classes: 3 } })"),
       "model.textproto:13:62: eval_metric 0 \"a\": num_classes is missing: predictions are class "
       "ids, s64[N]\n"
       "model.textproto:14:80: eval_metric 1 \"b\": num_classes must be > 0, got 0\n"
       "model.textproto:15:80: eval_metric 2 \"c\": num_classes must be <= 256, got 257\n"
       "model.textproto:16:84: eval_metric 3 \"d\": num_classes: got 4, want 3, of predictions "
       "f32[N,3], or leave it out\n"
       "model.textproto:17:62: eval_metric 4 \"e\": predictions: got 257 classes, want 1 to 256\n"
       "model.textproto:18:82: eval_metric 5 \"f\": num_classes must be <= 256, got 257\n"
       "model.textproto:19:25: eval_metric 6 \"g\": labels and predictions must have one shape, "
       "got labels s64[N] and predictions s64[N,2]\n"
       "model.textproto:20:25: eval_metric 7 \"h\": labels must be class ids, INT32 or INT64, got "
       "f32[N,3]\n"
       "model.textproto:21:25: eval_metric 8 \"i\": predictions must be class ids or logits "
       "f32[N,C], got f32[N]\n"
       "model.textproto:22:84: eval_metric 9 \"j\": k is of in_top_k, not of confusion_matrix; "
       "leave it out\n"
       "model.textproto:23:76: eval_metric 10 \"k\": num_classes is of confusion_matrix, "
       "f1_score, matthews_correlation, mean_iou, not of accuracy; leave it out"},
      {"decisions of metrics", absl::StrCat(kIris, R"(
feature { name: "id" dtype: INT64 }
eval_metric { name: "a" precision { labels: "Species" predictions: "logits" class_id: 3 } }
eval_metric { name: "b" recall { labels: "Species" predictions: "id" class_id: 1 thresholds: 0.5 } }
eval_metric { name: "c" recall { labels: "Species" predictions: "id" thresholds: [0.5, 1] } }
eval_metric { name: "d" precision { labels: "Species" predictions: "SepalWidth" thresholds: [0.5, 2] } }
eval_metric { name: "e" f1_score { labels: "Species" predictions: "id" num_classes: 3 } }
eval_metric { name: "f" f1_score { labels: "Species" predictions: "id" average: MACRO } }
eval_metric { name: "g" f1_score { labels: "Species" predictions: "SepalWidth" average: MICRO thresholds: 0.5 } }
eval_metric { name: "h" cosine_similarity { labels: "SepalWidth" predictions: "SepalLength" } }
eval_metric { name: "i" auc { labels: "Species" predictions: "SepalWidth" num_thresholds: 2 } }
eval_metric { name: "j" sparse_categorical_crossentropy { labels: "Species" predictions: "SepalWidth" } })"),
       "model.textproto:12:77: eval_metric 0 \"a\": class_id: got 3, want a class of "
       "predictions f32[N,3], 0 to 2\n"
       "model.textproto:13:82: eval_metric 1 \"b\": thresholds are for probabilities f32[N,C], "
       "got predictions s64[N]\n"
       "model.textproto:14:70: eval_metric 2 \"c\": thresholds are for probabilities, f32, got "
       "predictions s64[N]\n"
       "model.textproto:15:81: eval_metric 3 \"d\": thresholds[1] must be in [0, 1], got 2\n"
       "model.textproto:16:72: eval_metric 4 \"e\": num_classes is for the scores of classes; "
       "give average: MACRO or leave it out\n"
       "model.textproto:17:54: eval_metric 5 \"f\": num_classes is missing: predictions are "
       "class ids, s64[N]\n"
       "model.textproto:18:25: eval_metric 6 \"g\": predictions must be class ids or logits "
       "f32[N,C], got f32[N]\n"
       "model.textproto:18:80: eval_metric 6 \"g\": average is given together with thresholds, "
       "want one of them\n"
       "model.textproto:19:25: eval_metric 7 \"h\": predictions must be vectors f32[N,D], got "
       "f32[N]\n"
       "model.textproto:20:75: eval_metric 8 \"i\": num_thresholds must be >= 3, got 2\n"
       "model.textproto:21:25: eval_metric 9 \"j\": predictions must be f32[N,C], one "
       "probability for each class, got f32[N]"},
      {"groups of metrics", absl::StrCat(kIris, R"(
feature { name: "id" dtype: INT64 }
feature { name: "ids" dtype: INT64 shape: 2 }
eval_metric { name: "a" by: "id" mean { values: "logits" } }
eval_metric { name: "b" by: "idd" num_groups: 2 mean { values: "logits" } }
eval_metric { name: "c" by: "SepalWidth" num_groups: 2 mean { values: "logits" } }
eval_metric { name: "d" by: "ids" num_groups: 2 mean { values: "logits" } }
eval_metric { name: "e" by: "id" num_groups: 0 mean { values: "logits" } }
eval_metric { name: "f" by: "id" num_groups: 200 auc { labels: "id" predictions: "SepalWidth" } }
eval_metric { name: "g" num_groups: 2 mean { values: "logits" } })"),
       "model.textproto:13:25: eval_metric 0 \"a\": num_groups is missing: by needs it\n"
       "model.textproto:14:25: eval_metric 1 \"b\": by: nothing is called \"idd\", did you mean "
       "\"id\"?\n"
       "model.textproto:15:25: eval_metric 2 \"c\": by must name one number for each example, "
       "INT32 or INT64 [N], got \"SepalWidth\" of f32[N]\n"
       "model.textproto:16:25: eval_metric 3 \"d\": by must name one number for each example, "
       "INT32 or INT64 [N], got \"ids\" of s64[N,2]\n"
       "model.textproto:17:34: eval_metric 4 \"e\": num_groups must be > 0, got 0\n"
       "model.textproto:18:34: eval_metric 5 \"f\": num_groups: got 200, want at most 164: the "
       "metric has 399 sums for each group\n"
       "model.textproto:19:25: eval_metric 6 \"g\": num_groups needs by, which is not given"},
      {"predictions of heads", IrisWith(7, R"(layer { name: "logits" dense { units: 3 } }
layer { name: "probabilities" input: "logits" activation { function: SOFTPLUS } }
eval_metric { name: "a" mean { values: "probabilities" } }
eval_metric { name: "b" mean { values: "class_idz" } }
eval_metric { name: "c" accuracy { labels: "class_ids" predictions: "class_ids" } }
eval_metric { name: "d" accuracy { labels: "Species" predictions: "class_ids" weights: "logistic" } })"),
       "model.textproto:9:32: eval_metric 0 \"a\": values: \"probabilities\" is a feature, "
       "label or layer, and another value is the prediction \"probabilities\" of a head; give "
       "one of them another name\n"
       "model.textproto:10:32: eval_metric 1 \"b\": values: nothing is called \"class_idz\", "
       "did you mean \"class_ids\"?\n"
       "model.textproto:11:36: eval_metric 2 \"c\": labels: nothing is called \"class_ids\" "
       "(known: SepalLength, SepalWidth, Species, features, hidden, logits, probabilities)\n"
       "model.textproto:12:79: eval_metric 3 \"d\": weights: nothing is called \"logistic\" "
       "(known: SepalLength, SepalWidth, Species, features, hidden, logits, probabilities)"},
      {"predictions of a head with a mistake",
       IrisWith(7, R"(layer { name: "logits" dense { units: -3 } }
eval_metric { name: "a" mean { values: "probabilities" } })"),
       "model.textproto:7:32: layer 2 \"logits\": units must be > 0, got -3"},
      {"predictions", absl::StrCat(kIris, R"(prediction { name: "p" }
prediction { name: "q" tensor: "loss" }
prediction { name: "logits" })"),
       "model.textproto:10:14: prediction 0 \"p\": name: nothing is called \"p\" (known: "
       "SepalLength, SepalWidth, Species, features, hidden, logits)\n"
       "model.textproto:11:24: prediction 1 \"q\": tensor: \"loss\" cannot be read here\n"
       "model.textproto:12:1: prediction 2 \"logits\": there is a prediction \"logits\" already, "
       "from head 0; give one of them another name"},
      // ---- optimizers and the rest
      {"optimizer",
       IrisWith(9, "optimizer { ftrl {} learning_rate { constant: -1 } clip_by_norm: 0 }"),
       "model.textproto:9:13: optimizer 0 \"ftrl\": optimizer kind ftrl is not supported yet, want "
       "one of: adagrad, adam, adamw, gradient_descent, lamb, momentum, rms_prop\n"
       "model.textproto:9:37: optimizer 0 \"ftrl\": constant must be >= 0 and finite, got -1\n"
       "model.textproto:9:52: optimizer 0 \"ftrl\": clip_by_norm must be > 0 and finite, got 0"},
      {"var_list",
       IrisWith(9, R"(optimizer { adagrad {} learning_rate { constant: 1 } var_list: "hidden/.*" }
optimizer { adagrad {} learning_rate { constant: 1 } var_list: ["hidden/bias", "logits/bias", "logit/.*"] }
frozen: "hidden/kernl")"),
       "model.textproto:9:54: optimizer 0 \"adagrad\": variable logits/kernel is trainable but "
       "matches no optimizer's var_list; add it to one, or to `frozen`\n"
       "model.textproto:10:54: optimizer 1 \"adagrad_1\": \"logit/.*\" matches no variable (known: "
       "hidden/kernel, hidden/bias, logits/kernel, logits/bias)\n"
       "model.textproto:10:54: optimizer 1 \"adagrad_1\": variable hidden/bias is updated by "
       "optimizer 0 \"adagrad\" too; give each optimizer a var_list of its own variables\n"
       "model.textproto:11:1: frozen: \"hidden/kernl\" matches no variable (known: hidden/kernel, "
       "hidden/bias, logits/kernel, logits/bias)"},
      {"variables that do not decay", IrisWith(9, R"(optimizer {
  lamb { exclude_from_weight_decay: ["bias", "gamma"] exclude_from_layer_adaptation: "norm/" }
  learning_rate { constant: 1 }
})"),
       "model.textproto:10:10: optimizer 0 \"lamb\": \"gamma\" matches no variable (known: "
       "hidden/kernel, hidden/bias, logits/kernel, logits/bias)\n"
       "model.textproto:10:55: optimizer 0 \"lamb\": \"norm/\" matches no variable (known: "
       "hidden/kernel, hidden/bias, logits/kernel, logits/bias)"},
      {"two optimizers for all",
       absl::StrCat(
           kIris,
           R"(optimizer { name: "adagrad" adagrad {} learning_rate { constant: 1 } loss: "l" var_list: "hidden/bias" })"),
       "model.textproto:10:13: optimizer 1 \"adagrad\": the name \"adagrad\" is taken by optimizer "
       "0\n"
       "model.textproto:10:70: optimizer 1 \"adagrad\": no loss is called \"l\"; the model has no "
       "`loss` entries\n"
       "model.textproto:10:80: optimizer 1 \"adagrad\": variable hidden/bias is updated by "
       "optimizer 0 \"adagrad\" too; give each optimizer a var_list of its own variables"},
      {"frozen", absl::StrCat(kIris, "frozen: '['"),
       "model.textproto:10:1: frozen: \"[\" is not a regular expression: missing ]: ["},
      {"summaries", absl::StrCat(kIris, R"(summary { scalar { name: "acuracy" } }
summary { histogram { name: "h" tensor: "gradients/hiden/kernel" } every_n_steps: 0 }
summary { scalar { name: "logits" } }
summary { image { name: "i" tensor: "hidden/kernel" } }
summary { every_n_steps: 5 }
summary { scalar { name: "loss" tensor: "global_norm" } }
summary { scalar { name: "rate" tensor: "learning_rate" } }
summary { histogram { name: "rate" tensor: "logits" } }
summary { histogram { tensor: "logits" } }
summary { embedding { tensor: "hidden/bias" } every_n_steps: 5 }
summary { embedding { tensor: "hidden/kernl" } })"),
       "model.textproto:10:20: summary 0 \"acuracy\": there is no tensor, variable, gradient or "
       "metric \"acuracy\", did you mean \"accuracy\"?\n"
       "model.textproto:11:33: summary 1 \"h\": there is no tensor, variable, gradient or metric "
       "\"gradients/hiden/kernel\", did you mean \"gradients/hidden/kernel\"?\n"
       "model.textproto:11:68: summary 1 \"h\": every_n_steps must be > 0, got 0\n"
       "model.textproto:13:11: summary 3 \"i\": images must be f32 or u8 [N,HEIGHT,WIDTH,CHANNELS] "
       "of 1, 3 or 4 channels, got \"hidden/kernel\" of f32[2,10]\n"
       "model.textproto:14:1: summary 4: no kind of summary is given, want scalar, histogram, "
       "image or embedding\n"
       "model.textproto:15:20: summary 5 \"loss\": \"loss\" is written anyway; use another name\n"
       "model.textproto:17:23: summary 7 \"rate\": the name \"rate\" is taken by summary 6 "
       "\"rate\"\n"
       "model.textproto:18:11: summary 8: name is missing\n"
       "model.textproto:19:23: summary 9 \"hidden/bias\": an embedding must be f32 "
       "[ROWS,FEATURES], got \"hidden/bias\" of f32[10]\n"
       "model.textproto:19:47: summary 9 \"hidden/bias\": every_n_steps: an embedding is in every "
       "checkpoint\n"
       "model.textproto:20:23: summary 10 \"hidden/kernl\": there is no variable \"hidden/kernl\", "
       "did you mean \"hidden/kernel\"?"},
      {"a moving average without a decay", absl::StrCat(kIris, "moving_average {}"),
       "model.textproto:10:1: moving_average.decay is missing, want a number in (0, 1)"},
      {"a moving average that never changes", absl::StrCat(kIris, "moving_average { decay: 1 }"),
       "model.textproto:10:18: moving_average.decay must be in (0, 1), got 1"},
      {"a moving average that is none", absl::StrCat(kIris, "moving_average { decay: nan }"),
       "model.textproto:10:18: moving_average.decay must be in (0, 1), got nan"},
      {"a compute_dtype that no layer computes in", absl::StrCat(kIris, "compute_dtype: INT32"),
       "model.textproto:10:1: model: compute_dtype: unsupported data type for the TPU: INT32, "
       "want FLOAT32 or BFLOAT16"},
      {"regularization",
       absl::StrCat(kIris, R"(regularization { l2 { exclude: ["bias", "kernl", "("] } })"),
       "model.textproto:10:18: regularization.l2.scale is missing, want a number >= 0\n"
       "model.textproto:10:23: regularization: \"(\" is not a regular expression: missing ): (\n"
       "model.textproto:10:23: regularization: \"kernl\" matches no variable (known: "
       "hidden/kernel, hidden/bias, logits/kernel, logits/bias)"},
      {"a negative scale", absl::StrCat(kIris, "regularization { l2 { scale: -1 } }"),
       "model.textproto:10:23: regularization.l2.scale must be >= 0 and finite, got -1"},
      {"every mistake at once", R"(feature { name: "x" shape: 2 }
layer { name: "a" dense { units: 0 } }
layer { name: "b" dense { units: -1 } }
layer { name: "c" dense { units: 2 } input: "nowhere" }
head { classification { logits: "c" label: "species" } }
optimizer { adagrad {} })",
       "model.textproto:2:27: layer 0 \"a\": units must be > 0, got 0\n"
       "model.textproto:3:27: layer 1 \"b\": units must be > 0, got -1\n"
       "model.textproto:4:38: layer 2 \"c\": input \"nowhere\" is no feature, label or layer "
       "before it (known: a, b, x)\n"
       "model.textproto:5:37: head 0: label: nothing is called \"species\" (known: a, b, c, x)\n"
       "model.textproto:6:1: optimizer 0 \"adagrad\": learning_rate is missing"},
  };
  return mistakes;
}

class MistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsReportedWithItsLine) {
  EXPECT_EQ(ErrorsOf(GetParam().model), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Spec, MistakeTest, testing::ValuesIn(Mistakes()),
                         [](const auto& info) { return NameOf(info.param); });

TEST(ModelErrorsTest, WhatIsSetToItsDefaultIsNoMistake) {
  EXPECT_EQ(ErrorsOf(std::string(kIris) + "compute_dtype: FLOAT32 matmul_precision: DEFAULT"), "");
  EXPECT_EQ(ErrorsOf(IrisWith(7, R"(layer { name: "logits" dtype: FLOAT32 trainable: true
      dense { units: 3 transpose_kernel: false use_bias: true } })")),
            "");
}

}  // namespace
}  // namespace tpurun
