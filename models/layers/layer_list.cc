// The layers, by their field in proto Layer's oneof. sequence and residual are made of layers and
// belong to layer_stack.cc.
#include "models/layers/families.h"

namespace tpurun {

const std::vector<LayerDef>& LayerList() {
  static const std::vector<LayerDef>& list = *new std::vector<LayerDef>{
      {.name = "activation",
       .fields = {"function"},
       .check = CheckActivationLayer,
       .build = BuildActivation},
      {.name = "add",
       .min_inputs = 2,
       .max_inputs = -1,
       .check = NothingToCheck,
       .build = BuildAdd},
      {.name = "average_pooling2d",
       .fields = {"pool_size", "strides", "padding"},
       .check = CheckAveragePooling2d,
       .build = BuildAveragePooling2d,
       .write_out = WriteOutAveragePooling2d},
      {.name = "concat",
       .max_inputs = -1,
       .fields = {"axis"},
       .check = NothingToCheck,
       .build = BuildConcat},
      {.name = "conv2d",
       .fields = {"filters", "kernel_size", "strides", "padding", "activation", "use_bias",
                  "kernel_initializer"},
       .check = CheckConv2d,
       .build = BuildConv2d,
       .write_out = WriteOutConv2d},
      {.name = "dense",
       .fields = {"units", "activation", "use_bias", "kernel_initializer"},
       .check = CheckDense,
       .build = BuildDense},
      {.name = "dropout", .fields = {"rate"}, .check = CheckDropout, .build = BuildDropout},
      {.name = "flatten", .check = NothingToCheck, .build = BuildFlatten},
      {.name = "global_average_pooling2d",
       .check = NothingToCheck,
       .build = BuildGlobalAveragePooling2d},
      {.name = "max_pooling2d",
       .fields = {"pool_size", "strides", "padding"},
       .check = CheckMaxPooling2d,
       .build = BuildMaxPooling2d,
       .write_out = WriteOutMaxPooling2d},
      {.name = "one_hot", .fields = {"depth"}, .check = CheckOneHot, .build = BuildOneHot},
      {.name = "reshape", .fields = {"target_shape"}, .check = CheckReshape, .build = BuildReshape},
  };
  return list;
}

}  // namespace tpurun
