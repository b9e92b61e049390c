// What is wrong with the layers of a model spec, as ParseModel says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "tests/models/iris_spec.h"
#include "tests/models/mistake.h"

namespace tpurun {
namespace {

const std::vector<Mistake>& Mistakes() {
  static const std::vector<Mistake>& mistakes = *new std::vector<Mistake>{
      {"units", IrisWith(7, R"(layer { name: "logits" dense { units: -5 } })"),
       "model.textproto:7:32: layer 2 \"logits\": units must be > 0, got -5"},
      {"no units", IrisWith(7, R"(layer { name: "logits" dense { } })"),
       "model.textproto:7:24: layer 2 \"logits\": units is missing, want a number > 0"},
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
      {"add", R"(feature { name: "a" shape: 2 }
feature { name: "b" shape: [4, 3] }
layer { name: "y" add {} input: "a" input: "b" })",
       "model.textproto:3:1: layer 0 \"y\": inputs of add must have one shape, but for dimensions "
       "of 1 and missing ones behind N, got \"a\" of f32[N,2] and \"b\" of f32[N,4,3]"},
      {"subtract of types", R"(feature { name: "a" shape: 2 }
feature { name: "b" dtype: INT32 shape: 2 }
layer { name: "y" subtract {} input: "a" input: "b" })",
       "model.textproto:3:1: layer 0 \"y\": inputs of subtract must have one type, got \"a\" of "
       "f32[N,2] and \"b\" of s32[N,2]"},
      {"average of ids", R"(feature { name: "a" dtype: INT32 shape: 2 }
layer { name: "y" average {} input: "a" input: "a" })",
       "model.textproto:2:1: layer 0 \"y\": average wants floating-point values (f32), got \"a\" "
       "of s32[N,2]"},
      {"a mask that is repeated", R"(feature { name: "ids" dtype: INT32 shape: 1 }
feature { name: "b" shape: [4, 3] }
layer { name: "e" embedding { input_dim: 5 output_dim: 3 mask_zero: true } input: "ids" }
layer { name: "y" add {} input: "e" input: "b" })",
       "model.textproto:4:1: layer 1 \"y\": add would repeat \"e\" of f32[N,1,3], whose positions "
       "have a mask; give this layer drop_mask: true"},
      {"one input of multiply", ImageWith("shape: 2", "multiply {}"),
       "model.textproto:2:1: layer 0 \"y\": multiply wants 2 inputs or more, got 1"},
      {"multiply", R"(feature { name: "a" shape: 2 }
feature { name: "b" shape: 3 }
layer { name: "y" multiply {} input: "a" input: "b" })",
       "model.textproto:3:1: layer 0 \"y\": inputs of multiply must have one shape, but for "
       "dimensions of 1 and missing ones behind N, got \"a\" of f32[N,2] and \"b\" of f32[N,3]"},
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
      {"permute", ImageWith("shape: [2, 3]", "permute { dims: [0, 1] }"),
       "model.textproto:2:29: layer 0 \"y\": dims must be 1 to 2, each once, in any order, got "
       "[0,1]"},
      {"permute of other dimensions", ImageWith("shape: [2, 3, 4]", "permute { dims: [2, 1] }"),
       "model.textproto:2:19: layer 0 \"y\": dims must name the 3 dimensions of an example of "
       "\"x\", f32[N,2,3,4], got 2"},
      {"slice", ImageWith("shape: [2, 3]", "slice { begin: [-1, 0] size: [1, 0] }"),
       "model.textproto:2:27: layer 0 \"y\": begin[0] must be >= 0, got -1\n"
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
       "model.textproto:2:19: layer 0 \"y\": filters is missing, want a number > 0\n"
       "model.textproto:2:19: layer 0 \"y\": kernel_size is missing, want numbers > 0"},
      {"conv2d sizes",
       ImageWith("shape: [8, 8, 1]",
                 "conv2d { filters: 0 kernel_size: [3, 3, 3] strides: [1, 0] }"),
       "model.textproto:2:28: layer 0 \"y\": filters must be > 0, got 0\n"
       "model.textproto:2:39: layer 0 \"y\": kernel_size has 3 values, want at most 2\n"
       "model.textproto:2:62: layer 0 \"y\": strides[1] must be > 0, got 0"},
      {"conv2d of a matrix", ImageWith("shape: [28, 28]", "conv2d { filters: 2 kernel_size: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": conv2d wants an input of shape [N,H,W,C], got \"x\" of "
       "f32[N,28,28]; put a reshape with target_shape: [28, 28, 1] before it"},
      {"conv2d dilations and groups",
       ImageWith("shape: [8, 8, 6]",
                 "conv2d { filters: 6 kernel_size: 3 dilation_rate: [2, 0] groups: 4 }"),
       "model.textproto:2:54: layer 0 \"y\": dilation_rate[1] must be > 0, got 0\n"
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
      {"conv1d without arguments", ImageWith("shape: [8, 2]", "conv1d {}"),
       "model.textproto:2:19: layer 0 \"y\": filters is missing, want a number > 0\n"
       "model.textproto:2:19: layer 0 \"y\": kernel_size is missing, want a number > 0"},
      {"conv1d of an image", ImageWith("shape: [8, 8, 2]", "conv1d { filters: 2 kernel_size: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": conv1d wants floating-point values (f32) of shape "
       "[N,time,features], got \"x\" of f32[N,8,8,2]; put a reshape to time and features before "
       "it"},
      {"a dilated kernel longer than the sequence",
       ImageWith("shape: [4, 2]", "conv1d { filters: 2 kernel_size: 3 dilation_rate: 2 }"),
       "model.textproto:2:39: layer 0 \"y\": a window of 3, dilated to 5, does not fit into \"x\" "
       "of f32[N,4,2]; give padding: SAME or a smaller kernel_size or dilation_rate"},
      {"groups of other channels of a sequence",
       ImageWith("shape: [8, 6]", "conv1d { filters: 8 kernel_size: 3 groups: 4 }"),
       "model.textproto:2:54: layer 0 \"y\": groups must divide the 6 input channels of \"x\", got "
       "4"},
      {"a pool longer than the sequence",
       ImageWith("shape: [2, 3]", "max_pooling1d { pool_size: 3 }"),
       "model.textproto:2:35: layer 0 \"y\": a window of 3 does not fit into \"x\" of f32[N,2,3]; "
       "give padding: SAME or a smaller pool_size"},
      {"cropping of all", ImageWith("shape: [3, 1]", "cropping1d { cropping: [2, 1] }"),
       "model.textproto:2:32: layer 0 \"y\": cropping must leave a position of \"x\" of "
       "f32[N,3,1], got 2 and 1"},
      {"cropping of all pixels", ImageWith("shape: [3, 4, 1]", "cropping2d { cropping: [1, 2] }"),
       "model.textproto:2:32: layer 0 \"y\": cropping must leave a pixel of \"x\" of f32[N,3,4,1], "
       "got [1,1,2,2]"},
      {"padding of three edges",
       ImageWith("shape: [3, 4, 1]", "zero_padding2d { padding: [1, 2, 3] }"),
       "model.textproto:2:36: layer 0 \"y\": want one number, two (above and below, left and "
       "right) or four (above, below, left, right), got 3"},
      {"up_sampling2d of a vector", ImageWith("shape: 4", "up_sampling2d {}"),
       "model.textproto:2:1: layer 0 \"y\": up_sampling2d wants an input of shape [N,H,W,C], got "
       "\"x\" of f32[N,4]; put a reshape to height, width and channels before it"},
      {"a bilinear size",
       ImageWith("shape: [2, 2, 1]", "up_sampling2d { size: [2, 65] interpolation: BILINEAR }"),
       "model.textproto:2:35: layer 0 \"y\": size of BILINEAR must be at most 64, got 65"},
      {"the third input does not fit the second", R"(feature { name: "a" shape: [1, 3] }
feature { name: "b" shape: [4, 3] }
feature { name: "c" shape: [5, 3] }
layer { name: "y" add {} input: "a" input: "b" input: "c" })",
       "model.textproto:4:1: layer 0 \"y\": inputs of add must have one shape, but for dimensions "
       "of "
       "1 and missing ones behind N, got \"b\" of f32[N,4,3] and \"c\" of f32[N,5,3]"},
      {"up_sampling1d too long",
       ImageWith("shape: [1048576, 1]", "up_sampling1d { size: 1048576 }"),
       "model.textproto:2:35: layer 0 \"y\": the result would have 1048576 x 1048576 places, want "
       "at most 2147483648; make size smaller"},
      {"repeat_vector of a sequence", ImageWith("shape: [2, 3]", "repeat_vector { n: 2 }"),
       "model.textproto:2:1: layer 0 \"y\": repeat_vector wants an input of shape [N,C], got \"x\" "
       "of f32[N,2,3]"},
      {"groups that do not divide",
       ImageWith("shape: [2, 2, 4]", "group_normalization { groups: 3 }"),
       "model.textproto:2:41: layer 0 \"y\": groups must divide the 4 channels of \"x\", got 3"},
      {"the default of groups", ImageWith("shape: [2, 2, 16]", "group_normalization {}"),
       "model.textproto:2:19: layer 0 \"y\": groups must divide the 16 channels of \"x\", got 32, "
       "the "
       "default"},
      {"no groups", ImageWith("shape: [2, 2, 4]", "group_normalization { groups: 0 }"),
       "model.textproto:2:41: layer 0 \"y\": groups must be > 0, or -1 for as many as there are "
       "channels, got 0"},
      {"noise_shape", ImageWith("shape: [2, 3]", "dropout { noise_shape: [1, 2] }"),
       "model.textproto:2:29: layer 0 \"y\": want for each of the 2 dimensions of an example of "
       "\"x\", f32[N,2,3], its size, -1 or 1, got [1,2]"},
      {"alpha of a relu", ImageWith("shape: 2", "activation { function: RELU alpha: 0.1 }"),
       "model.textproto:2:47: layer 0 \"y\": alpha needs function: LEAKY_RELU, got RELU"},
      {"depthwise kernel", ImageWith("shape: [2, 2, 4]", "depthwise_conv2d { kernel_size: 3 }"),
       "model.textproto:2:38: layer 0 \"y\": a window of 3x3 does not fit into \"x\" of "
       "f32[N,2,2,4]; give padding: SAME or a smaller kernel_size"},
      {"too many channels",
       ImageWith("shape: [2, 2, 4]",
                 "separable_conv2d { filters: 2 kernel_size: 1 "
                 "depth_multiplier: 1073741824 }"),
       "model.textproto:2:64: layer 0 \"y\": the result would have 4 x 1073741824 channels, want "
       "at "
       "most 2147483648; make depth_multiplier smaller"},
      {"conv2d_transpose without arguments", ImageWith("shape: [8, 8, 1]", "conv2d_transpose {}"),
       "model.textproto:2:19: layer 0 \"y\": filters is missing, want a number > 0\n"
       "model.textproto:2:19: layer 0 \"y\": kernel_size is missing, want numbers > 0"},
      {"conv2d_transpose sizes",
       ImageWith("shape: [8, 8, 1]",
                 "conv2d_transpose { filters: -1 kernel_size: 0 strides: [1, 2, 3] }"),
       "model.textproto:2:38: layer 0 \"y\": filters must be > 0, got -1\n"
       "model.textproto:2:50: layer 0 \"y\": kernel_size[0] must be > 0, got 0\n"
       "model.textproto:2:65: layer 0 \"y\": strides has 3 values, want at most 2"},
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
      {"conv2d of whole numbers",
       ImageWith("dtype: UINT32 shape: [8, 8, 3]", "conv2d { filters: 2 kernel_size: 3 }"),
       "model.textproto:2:1: layer 0 \"y\": conv2d wants floating-point values (f32), got \"x\" of "
       "u32[N,8,8,3]; declare it FLOAT32 or cast it in the input"},
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
       "model.textproto:2:19: layer 0 \"y\": input_dim is missing, want a number > 0\n"
       "model.textproto:2:19: layer 0 \"y\": output_dim is missing, want a number > 0"},
      {"input_dim and output_dim",
       ImageWith("dtype: INT32",
                 "embedding { input_dim: 0 output_dim: 4294967296 "
                 "embeddings_initializer { variance_scaling { scale: -1 } } }"),
       "model.textproto:2:31: layer 0 \"y\": input_dim must be > 0, got 0\n"
       "model.textproto:2:44: layer 0 \"y\": output_dim must be <= 2147483648, got 4294967296\n"
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
       "values (f32) of shape [N,time,features], got \"x\" of f32[N,3]; put a reshape to time and "
       "features before it"},
      {"more positions than max_length",
       ImageWith("shape: [4, 3]", "position_embedding { max_length: 3 }"),
       "model.textproto:2:40: layer 0 \"y\": max_length is 3, and \"x\" has 4 positions"},
      {"one_hot", ImageWith("dtype: INT32", "one_hot {}"),
       "model.textproto:2:19: layer 0 \"y\": depth is missing, want a number > 0"},
      {"depth", ImageWith("dtype: INT32", "one_hot { depth: -1 }"),
       "model.textproto:2:29: layer 0 \"y\": depth must be > 0, got -1"},
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
       "model.textproto:2:19: layer 0 \"y\": key_dim is missing, want a number > 0\n"
       "model.textproto:2:42: layer 0 \"y\": num_heads must be > 0, got 0\n"
       "model.textproto:2:55: layer 0 \"y\": value_dim must be > 0, got -1\n"
       "model.textproto:2:69: layer 0 \"y\": output_dim must be > 0, got 0\n"
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
       "model.textproto:2:19: layer 0 \"y\": num_heads is missing, want a number > 0\n"
       "model.textproto:2:19: layer 0 \"y\": ffn_units is missing, want a number > 0\n"
       "model.textproto:2:39: layer 0 \"y\": key_dim must be > 0, got 0\n"
       "model.textproto:2:50: layer 0 \"y\": features must be > 0, got 0\n"
       "model.textproto:2:62: layer 0 \"y\": dropout must be in [0, 1), got -1\n"
       "model.textproto:2:74: layer 0 \"y\": repeat must be > 0, got 0"},
      {"transformer_block of another width",
       ImageWith("shape: [3, 4]", "transformer_block { num_heads: 1 key_dim: 3 ffn_units: 2 }"),
       "model.textproto:2:19: layer 0.0 \"y/attention\": layers give f32[N,3,3], the shortcut "
       "gives f32[N,3,4]; both must have one shape"},
      {"lstm",
       ImageWith("shape: [2, 3]", "lstm { activation: GELU recurrent_activation: SOFTMAX }"),
       "model.textproto:2:19: layer 0 \"y\": units is missing, want a number > 0\n"
       "model.textproto:2:26: layer 0 \"y\": activation: got GELU, want LINEAR, RELU, TANH, "
       "SIGMOID, SOFTPLUS or ELU\n"
       "model.textproto:2:43: layer 0 \"y\": recurrent_activation: got SOFTMAX, want LINEAR, RELU, "
       "TANH, SIGMOID, SOFTPLUS or ELU"},
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
       "model.textproto:2:35: layer 0 \"y\": reset_states_every needs stateful: true, which is not "
       "given"},
      {"a start of no state", ImageWith("shape: [2, 3]", "gru { units: 3 reset_states_at: \"x\" }"),
       "model.textproto:2:34: layer 0 \"y\": reset_states_at needs stateful: true, which is not "
       "given"},
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
       "model.textproto:3:1: layer 1 \"z\": flatten knows no masks, and \"y\" has one; give this "
       "layer drop_mask: true, or take mask_zero out of the embedding before it"},
      {"a mask that a convolution does not know",
       ImageWith("dtype: INT32 shape: 4",
                 "embedding { input_dim: 3 output_dim: 2 mask_zero: true } }\n"
                 "layer { name: \"z\" conv1d { filters: 2 kernel_size: 2 } }\n"
                 "layer { name: \"w\" drop_mask: true input: \"y\" flatten {}"),
       "model.textproto:3:1: layer 1 \"z\": conv1d knows no masks, and \"y\" has one; give this "
       "layer drop_mask: true, or take mask_zero out of the embedding before it"},
      {"a dtype that no layer computes in",
       IrisWith(7, R"(layer { name: "logits" dtype: INT32 dense { units: 3 } })"),
       "model.textproto:7:24: layer 2 \"logits\": dtype: unsupported data type for the TPU: "
       "INT32, want FLOAT32 or BFLOAT16"},
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
       "model.textproto:7:41: layer 2 \"logits\": transpose_kernel needs kernel_from, which is not "
       "given\n"
       "model.textproto:9:3: layer 3 \"x\": kernel_initializer is given together with kernel_from, "
       "want one of them"},
      {"defaults are for the layers that can use them", R"(feature { name: "x" shape: [2, 3] }
layer_defaults { dense { kernel_initializer { ones {} } transpose_kernel: true } }
layer_defaults { gru { units: 2 reset_states_every: 3 } }
layer { name: "a" dense { units: 2 } }
layer { name: "b" dense { units: 3 kernel_from: "a/kernel" } }
layer { name: "c" dense { units: 2 kernel_from: "b/kernel" kernel_initializer { ones {} } } }
layer { name: "d" input: "x" gru {} }
layer { name: "e" input: "x" gru { reset_states_every: 1 } }
layer_defaults { activation { alpha: 0.3 } }
layer { name: "f" input: "x" activation { function: RELU } }
layer { name: "g" input: "x" activation { function: LEAKY_RELU } })",
       "model.textproto:6:60: layer 2 \"c\": kernel_initializer is given together with "
       "kernel_from, want one of them\n"
       "model.textproto:8:36: layer 4 \"e\": reset_states_every needs stateful: true, which is not "
       "given"},
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
       "model.textproto:2:19: layer 0 \"y\": filters is missing, want a number > 0\n"
       "model.textproto:2:34: layer 0 \"y\": strides must be > 0, got 0\n"
       "model.textproto:2:45: layer 0 \"y\": repeat must be > 0, got 0"},
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
       "of layers in it\n"
       "model.textproto:3:18: layer_defaults 1: defaults cannot reuse a layer"},
      {"within a sequence, once for all copies", R"(feature { name: "x" shape: 1 }
layer { name: "s" sequence { repeat: 3
  layer { dense { units: 0 } } } })",
       "model.textproto:3:19: layer 0.0 \"s_0/dense\": units must be > 0, got 0"},
      {"repeat", R"(feature { name: "x" shape: 1 }
layer { name: "s" sequence { repeat: 0 layer { flatten {} } } }
layer { name: "t" sequence {} })",
       "model.textproto:2:30: layer 0 \"s\": repeat must be > 0, got 0\n"
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
  };
  return mistakes;
}

class LayerMistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(LayerMistakeTest, IsReportedWithItsLine) {
  EXPECT_EQ(ErrorsOf(GetParam().model), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Spec, LayerMistakeTest, testing::ValuesIn(Mistakes()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace tpurun
