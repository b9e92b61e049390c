// What is wrong with a model spec, as MakeModelFn says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/layers/layer.h"
#include "models/losses.h"
#include "tests/models/iris_spec.h"

namespace tpurun {
namespace {

// As messages list them.
template <typename Def>
std::string Kinds(const std::vector<Def>& list) {
  return absl::StrJoin(list, ", ",
                       [](std::string* text, const Def& def) { absl::StrAppend(text, def.name); });
}

// An image, and the layer under test.
std::string ImageWith(const std::string& shape, const std::string& layer) {
  return absl::StrCat("feature { name: \"x\" ", shape, " }\nlayer { name: \"y\" ", layer, " }");
}

struct Mistake {
  const char* name;
  std::string model;
  std::string want;
};

const std::vector<Mistake>& Mistakes() {
  static const std::vector<Mistake>& mistakes = *new std::vector<Mistake>{
      // ---- layers
      {"units", IrisWith(7, R"(layer { name: "logits" dense { units: -5 } })"),
       "model.textproto:7:32: layer 2 \"logits\": units must be > 0, got -5"},
      {"no units", IrisWith(7, R"(layer { name: "logits" dense { } })"),
       "model.textproto:7:24: layer 2 \"logits\": units is missing"},
      {"scalar into dense",
       IrisWith(6, R"(layer { name: "hidden" input: "SepalWidth" dense { units: 10 } })"),
       "model.textproto:6:1: layer 1 \"hidden\": dense wants an input of shape [N,K], got "
       "\"SepalWidth\" of f32[N]; declare the feature with `shape: 1`"},
      {"whole numbers into dense", R"(feature { name: "x" dtype: INT32 shape: 2 }
layer { name: "h" dense { units: 2 } })",
       "model.textproto:2:1: layer 0 \"h\": dense wants floating-point values (f32), got input "
       "\"x\" of s32[N,2]; declare it FLOAT32 or cast it in the input"},
      {"misspelt input",
       IrisWith(6, R"(layer { name: "hidden" input: "featurs" dense { units: 10 } })"),
       "model.textproto:6:24: layer 1 \"hidden\": input \"featurs\" is no feature, label or layer "
       "before it, did you mean \"features\"?"},
      {"the first layer of two features", IrisWith(5, R"(layer { name: "features" concat {} })"),
       "model.textproto:5:1: layer 0 \"features\": the first layer of several features must name "
       "its input"},
      {"two inputs",
       IrisWith(
           6, R"(layer { name: "hidden" input: "features" input: "features" dense { units: 1 } })"),
       "model.textproto:6:42: layer 1 \"hidden\": dense wants one input, got 2"},
      {"one input of add", IrisWith(6, R"(layer { name: "hidden" add {} })"),
       "model.textproto:6:1: layer 1 \"hidden\": add wants 2 inputs or more, got 1"},
      {"add",
       IrisWith(6, R"(layer { name: "hidden" add {} input: "features" input: "SepalWidth" })"),
       "model.textproto:6:1: layer 1 \"hidden\": inputs of add must have one shape, got "
       "\"features\" of f32[N,2] and \"SepalWidth\" of f32[N]"},
      {"one input of multiply", ImageWith("shape: 2", "multiply {}"),
       "model.textproto:2:1: layer 0 \"y\": multiply wants 2 inputs or more, got 1"},
      {"multiply",
       IrisWith(6, R"(layer { name: "hidden" multiply {} input: "features" input: "SepalWidth" })"),
       "model.textproto:6:1: layer 1 \"hidden\": inputs of multiply must have one shape, got "
       "\"features\" of f32[N,2] and \"SepalWidth\" of f32[N]"},
      {"concat of types",
       IrisWith(5, R"(layer { name: "features" concat {} input: "SepalLength" input: "Species" })"),
       "model.textproto:5:1: layer 0 \"features\": inputs of concat must have one dtype and the "
       "same shape but for axis 0, got \"SepalLength\" of f32[N] and \"Species\" of s32[N]"},
      {"concat axis", R"(feature { name: "x" }
layer { concat { axis: 1 } })",
       "model.textproto:2:18: layer 0 \"concat\": axis must be in [-1, 1) for examples of rank 1, "
       "got 1"},
      {"reshape", R"(feature { name: "x" shape: 6 }
layer { reshape { target_shape: [4, -1] } })",
       "model.textproto:2:9: layer 0 \"reshape\": target_shape [4,-1] does not hold the 6 values "
       "of an example of \"x\", f32[N,6]"},
      {"reshape to a size that is no 32-bit number", R"(feature { name: "x" shape: 6 }
layer { reshape { target_shape: [4294967296, -1] } })",
       "model.textproto:2:19: layer 0 \"reshape\": a dimension must be in [1, 2147483648], or -1 "
       "for one of them, got 4294967296"},
      {"reshape of two unknowns", R"(feature { name: "x" shape: 6 }
layer { reshape { target_shape: -1 target_shape: -1 target_shape: 0 } })",
       "model.textproto:2:19: layer 0 \"reshape\": only one dimension can be -1, got 2\n"
       "model.textproto:2:53: layer 0 \"reshape\": a dimension must be in [1, 2147483648], or -1 "
       "for one of them, got 0"},
      {"an op without a name", ImageWith("shape: 2", "op {}"),
       "model.textproto:2:19: layer 0 \"y\": name is missing"},
      {"no op", ImageWith("shape: 2", "op { name: \"exq\" }"),
       "model.textproto:2:24: layer 0 \"y\": there is no op \"exq\", did you mean \"exp\"?; "
       "`tpurun "
       "help ops` lists them"},
      {"an op of passes", ImageWith("shape: 2", "op { name: \"fused\" }"),
       "model.textproto:2:24: layer 0 \"y\": fused is an op of the program's own, and no layer's; "
       "`tpurun help ops` lists those"},
      {"an op of all cores", ImageWith("shape: 2", "op { name: \"cross_replica_sum\" }"),
       "model.textproto:2:24: layer 0 \"y\": cross_replica_sum is an op of the program's own, and "
       "no "
       "layer's; `tpurun help ops` lists those"},
      {"an attribute that an op has not",
       ImageWith("shape: 2", "op { name: \"reduce_max\" attrs: \"axis=1\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_max has no attribute \"axis\", did you mean "
       "\"axes\"? (reduce_max has axes: whole numbers as [1,2])"},
      {"an attribute that is missing", ImageWith("shape: 2", "op { name: \"reduce_max\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_max: attribute axes is missing (reduce_max has "
       "axes: whole numbers as [1,2])"},
      {"an attribute of another type",
       ImageWith("shape: 2", "op { name: \"reduce_max\" attrs: \"axes=1\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_max: attribute axes has the wrong type, want "
       "one "
       "like {axes=[]}, got {axes=1} (reduce_max has axes: whole numbers as [1,2])"},
      {"attributes that are none",
       ImageWith("shape: 2", "op { name: \"reduce_max\" attrs: \"axes\" }"),
       "model.textproto:2:43: layer 0 \"y\": attribute without = (reduce_max has axes: whole "
       "numbers as [1,2])"},
      {"dimensions below the batch's",
       ImageWith("shape: 2", "op { name: \"reshape\" attrs: \"dims=[-1,-2,-1]\" }"),
       "model.textproto:2:40: layer 0 \"y\": reshape: attribute dims must hold numbers in [0, "
       "2147483648], or -1 for the batch, and not too large ones, got [-1,-2,-1] (reshape has "
       "dims: "
       "whole numbers as [1,2])"},
      {"where an op stores", ImageWith("shape: 2", "op { name: \"exp\" attrs: \"out=bf16\" }"),
       "model.textproto:2:36: layer 0 \"y\": what a result is stored in is the layer's `dtype`, "
       "not "
       "out (exp has no attributes)"},
      {"operands of an op", ImageWith("shape: 2", "op { name: \"select\" }"),
       "model.textproto:2:19: layer 0 \"y\": select: want 3 operands, got 1 (select has no "
       "attributes)"},
      {"an op of another batch",
       ImageWith("shape: [2, 3]", "op { name: \"reshape\" attrs: \"dims=[2,6]\" }"),
       "model.textproto:2:19: layer 0 \"y\": it fits a batch of 2 and no other; -1 stands for the "
       "batch in attributes, and an input of one number an example is no row: reshape: f32[66,2,3] "
       "has 396 elements, [2,6] wants 12"},
      {"an axis counted from the end",
       ImageWith("shape: [3, 3]", "op { name: \"reduce_max\" attrs: \"axes=[-1]\" }"),
       "model.textproto:2:19: layer 0 \"y\": it fits a batch of 2 and no other; -1 stands for the "
       "batch in attributes, and an input of one number an example is no row: reduce_max: want f32 "
       "and neighbouring axes in rising order, got f32[66,3,3] and axes [66]; others take a "
       "reduction for each run of them, the last run first"},
      {"an axis counted from the end, of fewer dimensions than examples",
       ImageWith("shape: 3", "op { name: \"reduce_sum\" attrs: \"axes=[-1]\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_sum: want f32 and neighbouring axes in rising "
       "order, got f32[2,3] and axes [2]; others take a reduction for each run of them, the last "
       "run first (reduce_sum has axes: whole numbers as [1,2]); -1 stands for the batch, 2"},
      {"axes that are no run",
       ImageWith("shape: [3, 4, 5]", "op { name: \"reduce_sum\" attrs: \"axes=[1,3]\" }"),
       "model.textproto:2:19: layer 0 \"y\": reduce_sum: want f32 and neighbouring axes in rising "
       "order, got f32[2,3,4,5] and axes [1,3]; others take a reduction for each run of them, the "
       "last run first (reduce_sum has axes: whole numbers as [1,2])"},
      {"an op that loses the examples",
       ImageWith("shape: 3", "op { name: \"transpose\" attrs: \"perm=[1,0]\" }"),
       "model.textproto:2:19: layer 0 \"y\": result 0 of transpose must have the examples first, "
       "[N,...], got f32[3,N]"},
      {"shapes that an op refuses", ImageWith("", "op { name: \"softmax\" }"),
       "model.textproto:2:19: layer 0 \"y\": softmax: want f32[N,...,C], got f32[2] (softmax has "
       "no "
       "attributes)"},
      {"an op that reads other examples", R"(feature { name: "x" shape: [2, 3] }
feature { name: "ids" dtype: INT32 shape: 2 }
layer { name: "y" op { name: "gather" } input: ["x", "ids"] })",
       "model.textproto:3:19: layer 0 \"y\": gather reads operand 0 of all examples of a core at "
       "once; a layer's example depends on itself alone; give batch_dims=1"},
      {"permute", ImageWith("shape: [2, 3]", "permute { dims: [0, 1] }"),
       "model.textproto:2:29: layer 0 \"y\": dims must be 1 to 2, each once, in any order, got "
       "[0,1]"},
      {"permute of other dimensions", ImageWith("shape: [2, 3, 4]", "permute { dims: [2, 1] }"),
       "model.textproto:2:19: layer 0 \"y\": dims must name the 3 dimensions of an example of "
       "\"x\", f32[N,2,3,4], got 2"},
      {"slice", ImageWith("shape: [2, 3]", "slice { begin: [-1, 0] size: [1, 0] }"),
       "model.textproto:2:27: layer 0 \"y\": begin must be >= 0, got -1\n"
       "model.textproto:2:42: layer 0 \"y\": size must be > 0, or -1 for all that are left, got "
       "0"},
      {"slice of other dimensions", ImageWith("shape: [2, 3]", "slice { begin: 1 }"),
       "model.textproto:2:19: layer 0 \"y\": begin and size must have one number for each of the 2 "
       "dimensions of an example of \"x\", f32[N,2,3], got 1 and 0"},
      {"slice beyond the end", ImageWith("shape: [2, 3]", "slice { begin: [0, 2] size: [-1, 2] }"),
       "model.textproto:2:27: layer 0 \"y\": begin 2 with size 2 is not inside dimension 1 of an "
       "example of \"x\", f32[N,2,3]"},
      {"slice behind the end", ImageWith("shape: 3", "slice { begin: 3 size: -1 }"),
       "model.textproto:2:27: layer 0 \"y\": begin 3 with size -1 is not inside dimension 0 of an "
       "example of \"x\", f32[N,3]"},
      {"activation of whole numbers", R"(feature { name: "x" dtype: INT32 }
layer { activation { function: RELU } })",
       "model.textproto:2:1: layer 0 \"activation\": input \"x\" is s32[N], want floating-point "
       "values (f32)"},
      {"conv2d without arguments", ImageWith("shape: [8, 8, 1]", "conv2d {}"),
       "model.textproto:2:19: layer 0 \"y\": filters is missing\n"
       "model.textproto:2:19: layer 0 \"y\": kernel_size is missing"},
      {"conv2d sizes",
       ImageWith("shape: [8, 8, 1]",
                 "conv2d { filters: 0 kernel_size: [3, 3, 3] strides: [1, 0] }"),
       "model.textproto:2:28: layer 0 \"y\": filters must be > 0, got 0\n"
       "model.textproto:2:39: layer 0 \"y\": want one number for both, or height and width, got 3 "
       "numbers\n"
       "model.textproto:2:62: layer 0 \"y\": strides must be in [1, 1048576], got 0"},
      {"conv2d of a matrix", ImageWith("shape: [28, 28]", "conv2d { filters: 2 kernel_size: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": conv2d wants an input of shape [N,H,W,C], got \"x\" of "
       "f32[N,28,28]; put a reshape with target_shape: [28, 28, 1] before it"},
      {"conv2d dilations and groups",
       ImageWith("shape: [8, 8, 6]",
                 "conv2d { filters: 6 kernel_size: 3 dilation_rate: [2, 0] groups: 4 }"),
       "model.textproto:2:54: layer 0 \"y\": dilation_rate must be in [1, 1048576], got 0\n"
       "model.textproto:2:76: layer 0 \"y\": groups must divide the 6 filters, got 4"},
      {"conv2d without groups",
       ImageWith("shape: [8, 8, 6]", "conv2d { filters: 6 kernel_size: 3 groups: 0 }"),
       "model.textproto:2:54: layer 0 \"y\": groups must be > 0, got 0"},
      {"groups of other channels",
       ImageWith("shape: [8, 8, 6]", "conv2d { filters: 8 kernel_size: 3 groups: 4 }"),
       "model.textproto:2:54: layer 0 \"y\": groups must divide the 6 input channels of \"x\", got "
       "4"},
      {"a dilated kernel larger than the image",
       ImageWith("shape: [8, 4, 3]", "conv2d { filters: 2 kernel_size: 3 dilation_rate: [3, 2] }"),
       "model.textproto:2:39: layer 0 \"y\": a window of 3x3, dilated to 7x5, does not fit into "
       "\"x\" of f32[N,8,4,3]; give padding: SAME or a smaller kernel_size or dilation_rate"},
      {"conv2d_transpose without arguments", ImageWith("shape: [8, 8, 1]", "conv2d_transpose {}"),
       "model.textproto:2:19: layer 0 \"y\": filters is missing\n"
       "model.textproto:2:19: layer 0 \"y\": kernel_size is missing"},
      {"conv2d_transpose sizes",
       ImageWith("shape: [8, 8, 1]",
                 "conv2d_transpose { filters: -1 kernel_size: 0 strides: [1, 2, 3] }"),
       "model.textproto:2:38: layer 0 \"y\": filters must be > 0, got -1\n"
       "model.textproto:2:50: layer 0 \"y\": kernel_size must be in [1, 1048576], got 0\n"
       "model.textproto:2:65: layer 0 \"y\": want one number for both, or height and width, got 3 "
       "numbers"},
      {"conv2d_transpose of a vector",
       ImageWith("shape: 64", "conv2d_transpose { filters: 2 kernel_size: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": conv2d_transpose wants an input of shape [N,H,W,C], "
       "got "
       "\"x\" of f32[N,64]; put a reshape to height, width and channels before it"},
      {"a transposed convolution larger than any memory",
       ImageWith("shape: [1048576, 1048576, 1]",
                 "conv2d_transpose { filters: 2 kernel_size: 1 strides: 1024 }"),
       "model.textproto:2:1: layer 0 \"y\": values of f32[2,1073741824,1073741824,2] are too "
       "large, want at most 1024 TiB a batch"},
      {"a transposed convolution larger than any image",
       ImageWith("shape: [8, 4194304, 1]",
                 "conv2d_transpose { filters: 2 kernel_size: 1 strides: [1, 1024] }"),
       "model.textproto:2:64: layer 0 \"y\": the result would be 4294967296 wide, want at most "
       "2147483648; make strides smaller"},
      {"max_pooling2d of a vector", ImageWith("shape: 784", "max_pooling2d {}"),
       "model.textproto:2:1: layer 0 \"y\": max_pooling2d wants an input of shape [N,H,W,C], got "
       "\"x\" of f32[N,784]; put a reshape to height, width and channels before it"},
      {"conv2d of bytes",
       ImageWith("dtype: UINT8 shape: [8, 8, 3]", "conv2d { filters: 2 kernel_size: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": conv2d wants floating-point values (f32), got \"x\" of "
       "u8[N,8,8,3]; declare it FLOAT32 or cast it in the input"},
      {"a kernel larger than the image",
       ImageWith("shape: [8, 4, 3]", "conv2d { filters: 2 kernel_size: 5 }"),
       "model.textproto:2:39: layer 0 \"y\": a window of 5x5 does not fit into \"x\" of "
       "f32[N,8,4,3]; give padding: SAME or a smaller kernel_size"},
      {"a window larger than the image", ImageWith("shape: [1, 4, 3]", "average_pooling2d {}"),
       "model.textproto:2:19: layer 0 \"y\": a window of 2x2 does not fit into \"x\" of "
       "f32[N,1,4,3]; give padding: SAME or a smaller pool_size"},
      {"more values than any memory holds",
       ImageWith("shape: [2, 2, 1024]",
                 "conv2d { filters: 1048576 kernel_size: 1048576 padding: SAME }"),
       "model.textproto:2:1: layer 0 \"y\": variable y/kernel would be "
       "f32[1048576,1048576,1024,1048576]; make it smaller than 2^40 values"},
      {"dropout", ImageWith("shape: 2", "dropout { rate: 1 }"),
       "model.textproto:2:29: layer 0 \"y\": rate must be in [0, 1), got 1"},
      {"dropout of ids", ImageWith("dtype: INT32 shape: 2", "dropout {}"),
       "model.textproto:2:1: layer 0 \"y\": dropout wants floating-point values (f32), got \"x\" "
       "of s32[N,2]; declare it FLOAT32 or cast it in the input"},
      {"embedding", ImageWith("dtype: INT32", "embedding {}"),
       "model.textproto:2:19: layer 0 \"y\": input_dim is missing\n"
       "model.textproto:2:19: layer 0 \"y\": output_dim is missing"},
      {"input_dim and output_dim",
       ImageWith("dtype: INT32",
                 "embedding { input_dim: 0 output_dim: 4294967296 "
                 "embeddings_initializer { variance_scaling { scale: -1 } } }"),
       "model.textproto:2:31: layer 0 \"y\": input_dim must be in [1, 2147483648], got 0\n"
       "model.textproto:2:44: layer 0 \"y\": output_dim must be in [1, 2147483648], got "
       "4294967296\n"
       "model.textproto:2:111: layer 0 \"y\": scale must be > 0 and finite, got -1"},
      {"mask_zero of one id",
       ImageWith("dtype: INT32", "embedding { input_dim: 3 output_dim: 2 mask_zero: true }"),
       "model.textproto:2:58: layer 0 \"y\": mask_zero wants ids of shape [N,time], got \"x\" of "
       "s32[N]"},
      {"embedding of floats", ImageWith("shape: 2", "embedding { input_dim: 3 output_dim: 2 }"),
       "model.textproto:2:1: layer 0 \"y\": embedding wants ids, INT32 or INT64, got \"x\" of "
       "f32[N,2]; declare it INT32 or cast it in the input"},
      {"an embedding too large",
       ImageWith("dtype: INT32", "embedding { input_dim: 2147483648 output_dim: 2147483648 }"),
       "model.textproto:2:1: layer 0 \"y\": variable y/embeddings would be "
       "f32[2147483648,2147483648]; make it smaller than 2^40 values"},
      {"gather of one input", ImageWith("shape: [2, 3]", "gather {}"),
       "model.textproto:2:1: layer 0 \"y\": gather wants 2 inputs, got 1"},
      {"gather of floats", R"(feature { name: "x" shape: [2, 3] }
feature { name: "ids" shape: 2 }
layer { name: "y" gather {} input: ["x", "ids"] })",
       "model.textproto:3:1: layer 0 \"y\": gather wants ids, INT32 or INT64, got \"ids\" of "
       "f32[N,2]; declare it INT32 or cast it in the input"},
      {"gather from numbers", R"(feature { name: "x" }
feature { name: "ids" dtype: INT32 shape: 2 }
layer { name: "y" gather {} input: ["x", "ids"] })",
       "model.textproto:3:1: layer 0 \"y\": gather wants floating-point values (f32) of shape "
       "[N,time,...], got \"x\" of f32[N]"},
      {"max_wavelength",
       ImageWith("shape: [2, 3]", "sinusoidal_position_embedding { max_wavelength: 0 }"),
       "model.textproto:2:51: layer 0 \"y\": max_wavelength must be > 0 and finite, got 0"},
      {"positions of a vector", ImageWith("shape: 3", "sinusoidal_position_embedding {}"),
       "model.textproto:2:1: layer 0 \"y\": sinusoidal_position_embedding wants floating-point "
       "values (f32) of shape [N,time,features], got \"x\" of f32[N,3]"},
      {"more positions than max_length",
       ImageWith("shape: [4, 3]", "position_embedding { max_length: 3 }"),
       "model.textproto:2:40: layer 0 \"y\": max_length is 3, and \"x\" has 4 positions"},
      {"one_hot", ImageWith("dtype: INT32", "one_hot {}"),
       "model.textproto:2:19: layer 0 \"y\": depth is missing"},
      {"depth", ImageWith("dtype: INT32", "one_hot { depth: -1 }"),
       "model.textproto:2:29: layer 0 \"y\": depth must be in [1, 2147483648], got -1"},
      {"one_hot of floats", ImageWith("shape: 2", "one_hot { depth: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": one_hot wants ids, INT32 or INT64, got \"x\" of "
       "f32[N,2]; declare it INT32 or cast it in the input"},
      {"no kind", IrisWith(7, R"(layer { name: "logits" })"),
       absl::StrCat(
           "model.textproto:7:1: layer 2 \"logits\": no kind of layer is given, want one of: ",
           Kinds(LayerList()))},
      {"multi_head_attention",
       ImageWith("shape: [3, 4]",
                 "multi_head_attention { num_heads: 0 value_dim: -1 output_dim: 0 dropout: 1 }"),
       "model.textproto:2:19: layer 0 \"y\": key_dim is missing\n"
       "model.textproto:2:42: layer 0 \"y\": num_heads must be in [1, 2147483648], got 0\n"
       "model.textproto:2:55: layer 0 \"y\": value_dim must be in [1, 2147483648], got -1\n"
       "model.textproto:2:69: layer 0 \"y\": output_dim must be in [1, 2147483648], got 0\n"
       "model.textproto:2:83: layer 0 \"y\": dropout must be in [0, 1), got 1"},
      {"attention of vectors",
       ImageWith("shape: 3", "multi_head_attention { num_heads: 1 key_dim: 1 }"),
       "model.textproto:2:1: layer 0 \"y\": multi_head_attention wants floating-point values (f32) "
       "of shape [N,time,features], got \"x\" of f32[N,3]"},
      {"attention with an unknown mask",
       ImageWith("shape: [3, 4]", "multi_head_attention { num_heads: 1 key_dim: 1 mask: \"z\" }"),
       "model.textproto:2:66: layer 0 \"y\": there is no feature \"z\", did you mean \"x\"?"},
      {"attention with a mask of other positions",
       R"(feature { name: "x" shape: [3, 4] } feature { name: "seen" shape: 4 }
layer { name: "y" multi_head_attention { num_heads: 1 key_dim: 1 mask: "seen" } input: "x" })",
       "model.textproto:2:66: layer 0 \"y\": feature \"seen\" must be of shape [N,3], got "
       "f32[N,4]"},
      {"transformer_block",
       ImageWith("shape: [3, 4]",
                 "transformer_block { key_dim: 0 features: 0 dropout: -1 repeat: 0 }"),
       "model.textproto:2:19: layer 0 \"y\": num_heads is missing\n"
       "model.textproto:2:19: layer 0 \"y\": ffn_units is missing\n"
       "model.textproto:2:39: layer 0 \"y\": key_dim must be in [1, 2147483648], got 0\n"
       "model.textproto:2:50: layer 0 \"y\": features must be in [1, 2147483648], got 0\n"
       "model.textproto:2:62: layer 0 \"y\": dropout must be in [0, 1), got -1\n"
       "model.textproto:2:74: layer 0 \"y\": repeat must be in [1, 10000], got 0"},
      {"transformer_block of another width",
       ImageWith("shape: [3, 4]", "transformer_block { num_heads: 1 key_dim: 3 ffn_units: 2 }"),
       "model.textproto:2:19: layer 0.0 \"y/attention\": layers give f32[N,3,3], the shortcut "
       "gives f32[N,3,4]; both must have one shape"},
      {"lstm",
       ImageWith("shape: [2, 3]", "lstm { activation: GELU recurrent_activation: SOFTMAX }"),
       "model.textproto:2:19: layer 0 \"y\": units is missing\n"
       "model.textproto:2:26: layer 0 \"y\": activation must be one of LINEAR, RELU, TANH, "
       "SIGMOID, "
       "SOFTPLUS, ELU, got GELU\n"
       "model.textproto:2:43: layer 0 \"y\": recurrent_activation must be one of LINEAR, RELU, "
       "TANH, "
       "SIGMOID, SOFTPLUS, ELU, got SOFTMAX"},
      {"lstm of no sequence", ImageWith("shape: 3", "lstm { units: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": lstm wants floating-point values (f32) of shape "
       "[N,time,features], got \"x\" of f32[N,3]; put a reshape to time and features before it"},
      {"bidirectional of nothing", ImageWith("shape: [2, 3]", "bidirectional {}"),
       "model.textproto:2:19: layer 0 \"y\": a bidirectional wants one layer, got 0"},
      {"bidirectional of another layer",
       ImageWith("shape: [2, 3]", "bidirectional { layer { dense { units: 3 } } }"),
       "model.textproto:2:35: layer 0 \"y\": a bidirectional wants an lstm, gru or simple_rnn, "
       "got dense"},
      {"a reset of no state", ImageWith("shape: [2, 3]", "lstm { units: 3 reset_states_every: 2 }"),
       "model.textproto:2:35: layer 0 \"y\": reset_states_every is of a layer that keeps its "
       "state; "
       "set stateful: true"},
      {"a start of no state", ImageWith("shape: [2, 3]", "gru { units: 3 reset_states_at: \"x\" }"),
       "model.textproto:2:34: layer 0 \"y\": reset_states_at is of a layer that keeps its state; "
       "set stateful: true"},
      {"a start that is no feature", R"(feature { name: "x" shape: [2, 3] }
feature { name: "start" dtype: INT32 }
label { name: "next" }
layer_defaults { lstm { units: 3 return_sequences: true stateful: true reset_states_at: "strat" } }
layer { name: "a" input: "x" lstm {} }
layer { name: "b" input: "x" lstm { reset_states_at: "next" } }
layer { name: "d" input: "x" lstm { reset_states_at: "" } })",
       "model.textproto:4:72: layer 0 \"a\": there is no feature \"strat\", did you mean "
       "\"start\"?\n"
       "model.textproto:6:37: layer 1 \"b\": there is no feature \"next\" (known: start, x)"},
      {"a start of another shape",
       ImageWith("shape: [2, 3]", "simple_rnn { units: 3 stateful: true reset_states_at: \"x\" }"),
       "model.textproto:2:56: layer 0 \"y\": feature \"x\" must be one number an example, of shape "
       "[N], got f32[N,2,3]"},
      {"a mask that a layer does not know",
       ImageWith("dtype: INT32 shape: 2",
                 "embedding { input_dim: 3 output_dim: 2 mask_zero: true } }\n"
                 "layer { name: \"z\" flatten {}"),
       "model.textproto:3:1: layer 1 \"z\": flatten knows no masks, and \"y\" has one; take "
       "mask_zero out of the embedding before it"},
      {"a dtype that no layer computes in",
       IrisWith(7, R"(layer { name: "logits" dtype: INT32 dense { units: 3 } })"),
       "model.textproto:7:24: layer 2 \"logits\": dtype must be FLOAT32 or BFLOAT16, got INT32"},
      {"reuse of nothing", IrisWith(7, R"(layer { name: "logits" reuse: "hiden" })"),
       "model.textproto:7:24: layer 2 \"logits\": \"hiden\" is no layer before it, did you mean "
       "\"hidden\"?"},
      {"reuse of a feature", IrisWith(7, R"(layer { name: "logits" reuse: "PetalWidth" })"),
       "model.textproto:7:24: layer 2 \"logits\": \"PetalWidth\" is no layer before it "
       "(known: features, hidden)"},
      {"reuse of another kind",
       IrisWith(7, R"(layer { name: "logits" reuse: "hidden" trainable: false flatten {} })"),
       "model.textproto:7:24: layer 2 \"logits\": a layer that reuses \"hidden\" is of its kind "
       "and gives none, got flatten"},
      {"reuse for another input", IrisWith(7, R"(layer { name: "logits" reuse: "hidden" })"),
       "model.textproto:7:24: layer 2 \"logits\": variable \"hidden/kernel\" is f32[2,10], for an "
       "input \"hidden\" of f32[N,10] it must be f32[10,10]"},
      {"reuse does not choose what is trained",
       IrisWith(7, R"(layer { name: "logits" reuse: "features" trainable: false })"),
       "model.textproto:7:42: layer 2 \"logits\": the variables are those of \"features\"; set "
       "trainable there"},
      {"kernel_from",
       IrisWith(7, R"(layer { name: "logits" dense { units: 3 kernel_from: "hiden/kernel" } })"),
       "model.textproto:7:41: layer 2 \"logits\": there is no variable \"hiden/kernel\" of a layer "
       "before it, did you mean \"hidden/kernel\"?"},
      {"kernel_from of another shape",
       IrisWith(7, R"(layer { name: "logits" dense { units: 3 kernel_from: "hidden/kernel" } })"),
       "model.textproto:7:41: layer 2 \"logits\": variable \"hidden/kernel\" is f32[2,10], for an "
       "input \"hidden\" of f32[N,10] it must be f32[10,3]"},
      {"a kernel twice",
       IrisWith(7, R"(layer { name: "logits" dense { units: 3 transpose_kernel: true } }
layer { name: "x" dense { units: 2 kernel_from: "hidden/kernel" transpose_kernel: true
  kernel_initializer { ones {} } } })"),
       "model.textproto:7:41: layer 2 \"logits\": transpose_kernel is of kernel_from, which is "
       "missing\n"
       "model.textproto:9:3: layer 3 \"x\": kernel_from has a kernel already; remove one of them"},
      {"defaults are for the layers that can use them", R"(feature { name: "x" shape: [2, 3] }
layer_defaults { dense { kernel_initializer { ones {} } transpose_kernel: true } }
layer_defaults { gru { units: 2 reset_states_every: 3 } }
layer { name: "a" dense { units: 2 } }
layer { name: "b" dense { units: 3 kernel_from: "a/kernel" } }
layer { name: "c" dense { units: 2 kernel_from: "b/kernel" kernel_initializer { ones {} } } }
layer { name: "d" input: "x" gru {} }
layer { name: "e" input: "x" gru { reset_states_every: 1 } })",
       "model.textproto:6:60: layer 2 \"c\": kernel_from has a kernel already; remove one of them\n"
       "model.textproto:8:36: layer 4 \"e\": reset_states_every is of a layer that keeps its "
       "state; "
       "set stateful: true"},
      {"batch_normalization",
       ImageWith("shape: 2", "batch_normalization { momentum: 2 epsilon: 0 }"),
       "model.textproto:2:41: layer 0 \"y\": momentum must be in [0, 1], got 2\n"
       "model.textproto:2:53: layer 0 \"y\": epsilon must be > 0 and finite, got 0"},
      {"groups", ImageWith("shape: 2", R"(batch_normalization {
  group_assignment { replica: [0, 1, 2] }
  group_assignment { replica: [3, 1] } group_assignment { replica: 9 } })"),
       "model.textproto:4:3: layer 0 \"y\": groups must have one size, got 3 and 2\n"
       "model.textproto:4:22: layer 0 \"y\": replica 1 is in group 0 already, want each of 0 to 5 "
       "once\n"
       "model.textproto:4:40: layer 0 \"y\": groups must have one size, got 3 and 1\n"
       "model.textproto:4:59: layer 0 \"y\": there is no replica 9, want each of 0 to 5 once"},
      {"batch_normalization of a scalar", ImageWith("", "batch_normalization {}"),
       "model.textproto:2:1: layer 0 \"y\": batch_normalization wants floating-point values (f32) "
       "of shape [N,...,C], got \"x\" of f32[N]"},
      {"resnet_block", ImageWith("shape: [8, 8, 3]", "resnet_block { strides: 0 repeat: 0 }"),
       "model.textproto:2:19: layer 0 \"y\": filters is missing\n"
       "model.textproto:2:34: layer 0 \"y\": strides must be > 0, got 0\n"
       "model.textproto:2:45: layer 0 \"y\": repeat must be in [1, 10000], got 0"},
      {"resnet_block of a vector", ImageWith("shape: 8", "resnet_block { filters: 4 }"),
       "model.textproto:2:19: layer 0.0.0 \"y/residual/conv2d\": conv2d wants an input of shape "
       "[N,H,W,C], got \"x\" of f32[N,8]; put a reshape to height, width and channels before it\n"
       "model.textproto:2:19: layer 0.0.shortcut.0 \"y/residual/shortcut/conv2d\": conv2d wants an "
       "input of shape [N,H,W,C], got \"x\" of f32[N,8]; put a reshape to height, width and "
       "channels "
       "before it"},
      {"initializer",
       IrisWith(
           7,
           R"(layer { name: "logits" dense { units: 3 kernel_initializer { truncated_normal { stddev: -1 } } } })"),
       "model.textproto:7:81: layer 2 \"logits\": stddev must be >= 0 and finite, got -1"},
      {"no initializer",
       IrisWith(7, R"(layer { name: "logits" dense { units: 3 kernel_initializer {} } })"),
       "model.textproto:7:41: layer 2 \"logits\": no kind of initializer is given, want one of: "
       "zeros, ones, glorot_uniform, truncated_normal, variance_scaling, orthogonal"},
      {"orthogonal vector",
       IrisWith(
           7, R"(layer { name: "logits" dense { units: 3 bias_initializer { orthogonal {} } } })"),
       "model.textproto:7:60: layer 2 \"logits\": orthogonal makes a matrix; the variable has 1 "
       "dimension; use another initializer"},
      {"orthogonal gain",
       IrisWith(
           7,
           R"(layer { name: "logits" dense { units: 3 kernel_initializer { orthogonal { gain: 0 } } } })"),
       "model.textproto:7:75: layer 2 \"logits\": gain must be > 0 and finite, got 0"},
      {"a default is shown where it stands", R"(feature { name: "x" shape: 1 }
layer_defaults { dense { units: 0 } }
layer { name: "a" dense {} }
layer { name: "b" dense { units: 2 } })",
       "model.textproto:2:26: layer 0 \"a\": units must be > 0, got 0"},
      {"defaults", R"(feature { name: "x" shape: 1 }
layer_defaults { name: "a" input: "x" dense {} }
layer_defaults { trainable: false })",
       absl::StrCat(
           "model.textproto:2:18: layer_defaults 0: defaults cannot give a name\n"
           "model.textproto:2:28: layer_defaults 0: defaults cannot give inputs\n"
           "model.textproto:3:1: layer_defaults 1: no kind of layer is given, want one of: ",
           Kinds(LayerList()))},
      {"defaults of a group", R"(feature { name: "x" shape: 1 }
layer_defaults { residual { layer { flatten {} } } }
layer_defaults { reuse: "x" dense {} })",
       "model.textproto:2:18: layer_defaults 0: a residual has no defaults; give them to the kinds "
       "of "
       "layers in it\n"
       "model.textproto:3:18: layer_defaults 1: defaults cannot reuse a layer"},
      {"within a sequence, once for all copies", R"(feature { name: "x" shape: 1 }
layer { name: "s" sequence { repeat: 3
  layer { dense { units: 0 } } } })",
       "model.textproto:3:19: layer 0.0 \"s_0/dense\": units must be > 0, got 0"},
      {"repeat", R"(feature { name: "x" shape: 1 }
layer { name: "s" sequence { repeat: 0 layer { flatten {} } } }
layer { name: "t" sequence {} })",
       "model.textproto:2:30: layer 0 \"s\": repeat must be in [1, 10000], got 0\n"
       "model.textproto:3:19: layer 1 \"t\": a sequence wants at least one layer"},
      {"copies of copies", R"(feature { name: "x" shape: 1 }
layer { flatten {} }
layer { name: "s" sequence { layer { sequence { repeat: 1000
  layer { sequence { repeat: 1000 layer { sequence { repeat: 1000
    layer { residual { layer { flatten {} } } } } } } } } } } })",
       "model.textproto:3:1: layer 1 \"s\": with it the model has more than 10000 layers: got "
       "1000000000 or more with all copies, want at most 10000"},
      {"as many copies again", R"(feature { name: "x" shape: 1 }
layer { name: "s" sequence { repeat: 2000 layer { flatten {} } layer { flatten {} } } }
layer { name: "t" sequence { repeat: 3001 layer { flatten {} } layer { flatten {} } } })",
       "model.textproto:3:1: layer 1 \"t\": with it the model has more than 10000 layers: got "
       "10002 with all copies, want at most 10000"},
      {"residual", R"(feature { name: "x" shape: 3 }
layer { name: "r" residual { layer { dense { units: 2 } } } })",
       "model.textproto:2:19: layer 0 \"r\": layers give f32[N,2], the shortcut gives f32[N,3]; "
       "both must have one shape"},
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
       "model.textproto:1:21: feature 0 \"x\": dtype STRING cannot be fed to the device, want "
       "FLOAT32, INT32, INT64, UINT8, UINT32 or BOOL; the input can convert it\n"
       "model.textproto:1:35: feature 0 \"x\": a dimension must be in [1, 2147483648] (the batch "
       "is not one of them), got 0"},
      // ---- heads, losses, metrics, predictions
      {"head without arguments", IrisWith(8, "head { classification {} }"),
       "model.textproto:8:8: head 0: logits is missing\n"
       "model.textproto:8:8: head 0: label is missing"},
      {"logits that are no matrix",
       IrisWith(8, R"(head { classification { logits: "SepalWidth" label: "Species" } })"),
       "model.textproto:8:25: head 0: logits must be f32[N,C], one value for each class, got "
       "\"SepalWidth\" of f32[N]"},
      {"one logit", IrisWith(7, R"(layer { name: "logits" dense { units: 1 } })"),
       "model.textproto:8:25: head 0: a classification of one logit is not supported yet, got "
       "\"logits\" of f32[N,1]; use one logit for each of the two classes"},
      {"a label of floats", IrisWith(4, R"(label { name: "Species" })"),
       "model.textproto:8:8: head 0: labels must be class ids, INT32 or INT64, got f32[N]"},
      {"a label of vectors", IrisWith(4, R"(label { name: "Species" dtype: INT32 shape: 2 })"),
       "model.textproto:8:8: head 0: labels must be one class id for each row of logits, want "
       "s32[N], got s32[N,2] for logits f32[N,3]"},
      {"label_smoothing",
       IrisWith(
           8,
           R"(head { classification { logits: "logits" label: "Species" label_smoothing: 1 } })"),
       "model.textproto:8:59: head 0: got 1, want a share in [0, 1)"},
      {"a head that is not supported", IrisWith(8, "head { multi_label {} }\nhead {}"),
       "model.textproto:8:8: head 0: head kind multi_label is not supported yet, want one of: "
       "classification, regression, sequence\n"
       "model.textproto:9:1: head 1: no kind of head is given, want one of: classification, "
       "regression, sequence"},
      {"a sequence head of examples",
       IrisWith(8, R"(head { sequence { logits: "logits" label: "Species" label_smoothing: 2 } }
head { name: "b" sequence {} })"),
       "model.textproto:8:19: head 0: logits must be f32[N,T,C], one value for each class at each "
       "position, got \"logits\" of f32[N,3]\n"
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
       "model.textproto:11:52: head 4 \"e\": got 1, want a share in [0, 1)"},
      {"two heads", IrisWith(8, R"(head { classification { logits: "logits" label: "Species" } }
head { classification { logits: "logits" label: "Species" } })"),
       "model.textproto:9:1: head 1: there is a metric \"accuracy\" already, from head 0; give one "
       "of them another name\n"
       "model.textproto:9:1: head 1: there is a prediction \"class_ids\" already, from head 0; "
       "give one of them another name\n"
       "model.textproto:9:1: head 1: there is a prediction \"probabilities\" already, from head 0; "
       "give one of them another name\n"
       "model.textproto:9:1: head 1: there is a prediction \"logits\" already, from head 0; give "
       "one of them another name"},
      {"losses", R"(feature { name: "x" shape: 2 }
label { name: "y" }
loss { name: "a" softmax_cross_entropy {} }
loss { name: "b" mean_squared_error { labels: "y" predictions: "x" } }
loss { name: "c" mean_squared_error { labels: "x" predictions: "x" weights: "nowhere" logits: "x" } }
loss { mean_squared_error { labels: "x" predictions: "x" } }
loss { name: "e" }
loss { name: "f" mean_squared_error { labels: "nowhere" predictions: "x" } }
loss { name: "g" mean_squared_error { labels: "x" predictions: "nowhere" } })",
       absl::StrCat("model.textproto:3:18: loss 0 \"a\": labels is missing\n"
                    "model.textproto:3:18: loss 0 \"a\": logits is missing\n"
                    "model.textproto:4:18: loss 1 \"b\": labels and predictions must have one "
                    "shape, got labels "
                    "f32[N] and predictions f32[N,2]\n"
                    "model.textproto:5:68: loss 2 \"c\": weights: nothing is called \"nowhere\" "
                    "(known: a, b, "
                    "x, y)\n"
                    "model.textproto:5:87: loss 2 \"c\": logits is not supported yet; remove it\n"
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
       "model.textproto:6:66: loss 2 \"c\": got -0.5, want a share in [0, 1)\n"
       "model.textproto:7:18: loss 3 \"d\": logits must be f32, got s32[N]\n"
       "model.textproto:8:18: loss 4 \"e\": labels and predictions must have one shape, got labels "
       "f32[N,3] and predictions f32[N,2]\n"
       "model.textproto:8:58: loss 4 \"e\": label_smoothing is not supported yet; remove it\n"
       "model.textproto:9:60: loss 5 \"f\": got 0, want a number > 0"},
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
       "model.textproto:10:1: eval_metric 0 \"accuracy\": there is a metric \"accuracy\" already, "
       "from head 0; give one of them another name\n"
       "model.textproto:11:15: eval_metric 1 \"loss\": the name \"loss\" is reserved; choose "
       "another\n"
       "model.textproto:12:27: eval_metric 2 \"auc\": labels is missing\n"
       "model.textproto:12:27: eval_metric 2 \"auc\": predictions is missing\n"
       "model.textproto:13:25: eval_metric 3 \"k\": labels must be class ids, INT32 or INT64, got "
       "f32[N,3]\n"
       "model.textproto:13:75: eval_metric 3 \"k\": k is not supported yet; remove it\n"
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
       "got "
       "labels s32[N] and predictions f32[N,3]\n"
       "model.textproto:11:76: eval_metric 1 \"b\": got 0, want 1 or more\n"
       "model.textproto:12:25: eval_metric 2 \"c\": labels must be class ids, INT32 or INT64 [N], "
       "got "
       "f32[N,3]\n"
       "model.textproto:13:25: eval_metric 3 \"d\": predictions must be f32[N,C], one value for "
       "each "
       "class, got f32[N]\n"
       "model.textproto:14:25: eval_metric 4 \"e\": labels and predictions must have one shape, "
       "got "
       "labels s32[N] and predictions f32[N,3]\n"
       "model.textproto:14:79: eval_metric 4 \"e\": values is not supported yet; remove it"},
      {"confusion matrices", absl::StrCat(kIris, R"(feature { name: "id" dtype: INT64 }
feature { name: "ids" dtype: INT64 shape: 2 }
layer { name: "many" dense { units: 257 } input: "logits" }
eval_metric { name: "a" confusion_matrix { labels: "Species" predictions: "id" } }
eval_metric { name: "b" confusion_matrix { labels: "Species" predictions: "id" num_classes: 0 } }
eval_metric { name: "c" confusion_matrix { labels: "Species" predictions: "id" num_classes: 257 } }
eval_metric { name: "d" confusion_matrix { labels: "Species" predictions: "logits" num_classes: 4 } }
eval_metric { name: "e" confusion_matrix { labels: "Species" predictions: "many" } }
eval_metric { name: "f" confusion_matrix { labels: "Species" predictions: "many" num_classes: 257 } }
eval_metric { name: "g" confusion_matrix { labels: "ids" predictions: "ids" num_classes: 3 } }
eval_metric { name: "h" confusion_matrix { labels: "logits" predictions: "logits" } }
eval_metric { name: "i" confusion_matrix { labels: "Species" predictions: "SepalWidth" } }
eval_metric { name: "j" confusion_matrix { labels: "Species" predictions: "logits" k: 2 } }
eval_metric { name: "k" accuracy { labels: "Species" predictions: "logits" num_classes: 3 } })"),
       "model.textproto:13:62: eval_metric 0 \"a\": num_classes is missing: predictions are class "
       "ids, s64[N]\n"
       "model.textproto:14:80: eval_metric 1 \"b\": num_classes: got 0 classes, want 1 to 256\n"
       "model.textproto:15:80: eval_metric 2 \"c\": num_classes: got 257 classes, want 1 to 256\n"
       "model.textproto:16:84: eval_metric 3 \"d\": num_classes: got 4, want 3, of predictions "
       "f32[N,3], or leave it out\n"
       "model.textproto:17:62: eval_metric 4 \"e\": predictions: got 257 classes, want 1 to 256\n"
       "model.textproto:18:82: eval_metric 5 \"f\": num_classes: got 257 classes, want 1 to 256\n"
       "model.textproto:19:25: eval_metric 6 \"g\": predictions must be logits f32[N,C] or class "
       "ids [N], got s64[N,2]\n"
       "model.textproto:20:25: eval_metric 7 \"h\": labels must be class ids, INT32 or INT64, got "
       "f32[N,3]\n"
       "model.textproto:21:25: eval_metric 8 \"i\": predictions must be class ids or logits "
       "f32[N,C], got f32[N]\n"
       "model.textproto:22:84: eval_metric 9 \"j\": k is not supported yet; remove it\n"
       "model.textproto:23:76: eval_metric 10 \"k\": num_classes is not supported yet; remove it"},
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
       "model.textproto:9:37: optimizer 0 \"ftrl\": the learning rate must be >= 0 and finite, got "
       "-1\n"
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
       "model.textproto:12:11: summary 2 \"logits\": a scalar must be one value, got \"logits\" of "
       "f32[N,3]\n"
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
      {"parts that nothing acts on", absl::StrCat(kIris, R"(moving_average { decay: 0.9 })"),
       "model.textproto:10:1: model: moving_average is not supported yet; remove it"},
      {"a compute_dtype that no layer computes in", absl::StrCat(kIris, "compute_dtype: INT32"),
       "model.textproto:10:1: model: compute_dtype must be FLOAT32 or BFLOAT16, got INT32"},
      {"regularization",
       absl::StrCat(kIris, R"(regularization { l2 { exclude: ["bias", "kernl", "("] } })"),
       "model.textproto:10:18: regularization: scale is missing\n"
       "model.textproto:10:23: regularization: \"(\" is not a regular expression: missing ): (\n"
       "model.textproto:10:23: regularization: \"kernl\" matches no variable (known: "
       "hidden/kernel, hidden/bias, logits/kernel, logits/bias)"},
      {"a scale of nothing", absl::StrCat(kIris, "regularization { l2 { scale: 0 } }"),
       "model.textproto:10:23: regularization: scale must be > 0 and finite, got 0"},
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

INSTANTIATE_TEST_SUITE_P(Spec, MistakeTest, testing::ValuesIn(Mistakes()), [](const auto& info) {
  std::string name;
  for (const char c : std::string(info.param.name)) name += isalnum(c) ? c : '_';
  return name;
});

TEST(ModelErrorsTest, WhatIsSetToItsDefaultIsNoMistake) {
  EXPECT_EQ(ErrorsOf(std::string(kIris) + "compute_dtype: FLOAT32 matmul_precision: DEFAULT"), "");
  EXPECT_EQ(ErrorsOf(IrisWith(7, R"(layer { name: "logits" dtype: FLOAT32 trainable: true
      dense { units: 3 transpose_kernel: false use_bias: true } })")),
            "");
}

}  // namespace
}  // namespace tpurun
