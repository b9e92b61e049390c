#include "models/layers/tpu_ops.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_split.h"
#include "models/layers/layer.h"
#include "runtime/base/text.h"
#include "runtime/ops/op_list.h"
#include "runtime/tpu/op_spelling.h"

namespace tpurun {
namespace {

// The page's names are in CamelCase (runtime/tpu/tensorflow_ops.cc). The names of the Python API
// are added in snake_case if they differ. Ops that tpurun has under the same name are left out.
constexpr TensorFlowOps kOps[] = {
    // ---- element-wise
    {"Abs", "op maximum of x and op neg of x"},
    {"AddN accumulate_n", "layer add of all of them"},
    {"Less", "op greater with its operands exchanged"},
    {"LessEqual", "op greater_equal with its operands exchanged"},
    {"NotEqual", "op select of an op equal, with its two values exchanged"},
    {"LogicalNot", "op select, with its two values exchanged"},
    {"LogicalAnd", "op mul of both as 0 and 1 (op convert)"},
    {"LogicalOr", "op maximum of both as 0 and 1 (op convert)"},
    {"Negative", "op neg", "Neg"},
    {"RealDiv TruncateDiv divide truediv", "op div"},
    {"DivNoNan", "op div, with op select where y is 0"},
    {"FloorDiv", "op floor of an op div"},
    {"FloorMod Mod TruncateMod", "op sub of x and y times an op floor of x / y"},
    {"Inv Reciprocal", "op div of 1 (op constant) and x"},
    {"SquaredDifference", "op square of an op sub"},
    {"Log1p", "op log of x + 1 (op add, op constant)"},
    {"Expm1", "op sub of an op exp and 1 (op constant)"},
    {"LogSoftmax", "op log of an op softmax"},
    {"Erfc", "op sub of 1 (op constant) and an op erf"},
    {"Cosh Sinh", "ops exp of x and of -x (op neg)"},
    {"Tan", "op div of an op sin and an op cos"},
    {"Ceil", "op neg of an op floor of -x (op neg)"},
    {"Round Rint", "op floor of x + 0.5 (op add, op constant), which rounds halves up"},
    {"Sign", "ops select of op greater"},
    {"ClipByValue", "op minimum of an op maximum"},
    {"Relu6", "activation of RELU6"},
    {"LeakyRelu", "activation of LEAKY_RELU; of another slope, op maximum of x and an op mul of x"},
    {"Selu", "activation of SELU"},
    {"Softsign", "activation of SOFTSIGN"},
    {"silu swish", "activation of SWISH", "Mul Sigmoid"},
    {"IsNan", "op equal of x and x, which is false for a NaN"},
    {"Xlogy Xdivy", "op mul or op div, with op select where x is 0"},
    {"Cast", "op convert"},
    {"Acos Acosh Angle ApproximateEqual Asin Asinh Atan Atan2 Atanh Bitcast BitwiseAnd BitwiseOr "
     "BitwiseXor Complex ComplexAbs Conj Digamma Imag Invert IsFinite IsInf LeftShift Lgamma Real "
     "RightShift FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars QuantizeAndDequantizeV2 "
     "XlaDequantize"},
    {"EluGrad LeakyReluGrad ReciprocalGrad Relu6Grad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad "
     "SoftsignGrad SqrtGrad TanhGrad FakeQuantWithMinMaxArgsGradient "
     "FakeQuantWithMinMaxVarsGradient AvgPool3DGrad BiasAddGrad FusedBatchNormGrad LRNGrad "
     "MaxPool3DGrad MaxPool3DGradGrad MaxPoolGradGrad ResizeBilinearGrad StridedSliceGrad "
     "BroadcastGradientArgs SymbolicGradient",
     "the function itself: tpurun takes its gradient"},
    // ---- over axes
    {"Sum XlaReduce", "op reduce_sum"},
    {"Max", "op reduce_max"},
    {"Min reduce_min", "op neg of an op reduce_max of -x (op neg)"},
    {"Mean reduce_mean",
     "op reduce_sum and op mul by 1 / n, or over height and width layer global_average_pooling2d"},
    {"Any reduce_any", "op reduce_max of 0 and 1 (op convert)"},
    {"All reduce_all", "op neg of an op reduce_max of -x (op neg), of 0 and 1 (op convert)"},
    {"ArgMin", "op argmax of -x (op neg)"},
    {"L2Loss", "op l2_loss_of_rows, or regularization { l2 } of the model"},
    {"TopK", "op argmax for the first, metric in_top_k"},
    {"Prod reduce_prod Cumprod Cumsum XlaKeyValueSort XlaSort argsort sort NonMaxSuppressionV4 "
     "XlaReduceWindow XlaSelectAndScatter"},
    // ---- arrays
    {"Identity IdentityN Snapshot PreventGradient",
     "nothing: whoever reads it names the same input"},
    {"StopGradient", "trainable: false of the layers before it"},
    {"Assert CheckNumerics NoOp ControlTrigger",
     "nothing: a TPU ignores it, and tpurun looks for NaN and infinity at every step"},
    {"Pack stack", "layer concat, and layer reshape"},
    {"Split SplitV GetItem StridedSlice XlaDynamicSlice", "layer slice, one for each part"},
    {"Unpack unstack", "layer slice and layer reshape, one of each for each part"},
    {"ExpandDims Squeeze", "layer reshape"},
    {"BroadcastTo XlaBroadcastHelper", "op broadcast"},
    {"Tile repeat", "layer concat of the same input several times"},
    {"MirrorPad XlaPad", "op pad, which pads with one value"},
    {"ReverseSequence", "op reverse, which knows no lengths"},
    {"Const Fill Empty OnesLike ZerosLike ones zeros Shape ShapeN Size Rank VariableShape",
     "op constant: every shape is known before the run"},
    {"Range LinSpace", "op iota"},
    {"GatherNd", "op gather, with batch_dims"},
    {"ScatterNd UnsortedSegmentSum", "op scatter_add"},
    {"InplaceUpdate XlaDynamicUpdateSlice", "op set_rows"},
    {"DepthToSpace SpaceToDepth BatchToSpace SpaceToBatch BatchToSpaceND SpaceToBatchND",
     "layer permute between two of layer reshape"},
    {"ConjugateTranspose", "op transpose"},
    {"BroadcastArgs Bucketize ConcatOffset DataFormatVecPermute Diag DiagPart DynamicStitch "
     "InplaceAdd InvertPermutation ListDiff MatrixBandPart MatrixDiag MatrixDiagPart MatrixSetDiag "
     "ParallelDynamicStitch SparseToDense UnsortedSegmentMax UnsortedSegmentMin "
     "UnsortedSegmentProd"},
    // ---- products, convolutions, normalizations
    {"SparseMatMul XlaDot", "op matmul, op batch_matmul"},
    {"Conv2DBackpropInput", "layer conv2d_transpose, op conv2d_input_grad"},
    {"Conv2DBackpropFilter", "op conv2d_filter_grad, with batch_dims"},
    {"DepthwiseConv2dNative", "layer depthwise_conv2d"},
    {"XlaConv convolution", "layer conv2d, op conv2d"},
    {"Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2", "layer conv2d, of two dimensions"},
    {"AvgPool3D", "layer average_pooling2d, of two dimensions"},
    {"MaxPool3D", "layer max_pooling2d, of two dimensions"},
    {"FusedBatchNorm fused_batch_norm", "layer batch_normalization"},
    {"LRN local_response_normalization"},
    {"SoftmaxCrossEntropyWithLogits", "op softmax_cross_entropy"},
    {"SparseSoftmaxCrossEntropyWithLogits", "op sparse_softmax_cross_entropy"},
    {"sigmoid_cross_entropy_with_logits", "a loss sigmoid_cross_entropy of the model",
     "Exp Log1p Mul"},
    {"Cholesky Cross DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
     "ExtractImagePatches FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D "
     "MatrixTriangularSolve Qr RFFT RFFT2D RFFT3D"},
    {"AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB RGBToHSV"},
    {"ResizeBilinear ResizeNearestNeighbor", "layer up_sampling2d, by whole factors"},
    // ---- chance
    {"RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal StatelessRandomNormal "
     "StatelessRandomUniform StatelessRandomUniformInt StatelessTruncatedNormal random_normal",
     "layer dropout, which alone draws"},
    {"RandomShuffle", "the transform shuffle of the input"},
    {"Multinomial StatelessMultinomial categorical", "predict { generate { ... } }"},
    // ---- control flow, variables, cores: what a model has no ops for
    {"If StatelessIf XlaIf cond case", "op select of the results of both branches"},
    {"While StatelessWhile XlaWhile while_loop scan map_fn StackCloseV2 StackPopV2 StackPushV2 "
     "TensorArrayV3 TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 "
     "TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 "
     "TensorArrayWriteV3 EmptyTensorList TensorListElementShape TensorListPopBack "
     "TensorListPushBack TensorListReserve",
     "layers lstm, gru and simple_rnn, which loop over time"},
    {"AssignAddVariableOp AssignSubVariableOp AssignVariableOp ReadVariableOp ResourceScatterAdd "
     "ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
     "ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub "
     "ResourceScatterUpdate ResourceStridedSliceAssign VarIsInitializedOp assign assign_add "
     "assign_sub",
     "layers that have variables"},
    {"ResourceApplyAdagrad ResourceApplyAdam ResourceApplyCenteredRMSProp "
     "ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum "
     "ResourceApplyRMSProp",
     "an optimizer of the model (tpurun help optimizers)"},
    {"ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagradDA ResourceApplyAddSign "
     "ResourceApplyFtrl ResourceApplyPowerSign ResourceApplyProximalAdagrad "
     "ResourceApplyProximalGradientDescent"},
    {"ResourceGather RecvTPUEmbeddingActivations SendTPUEmbeddingGradients TPUEmbeddingActivations "
     "embedding_lookup",
     "layer embedding"},
    {"CrossReplicaSum", "optimizer { cross_shard { reduction: SUM } }"},
    {"AllToAll CollectivePermute"},
    {"InfeedDequeue InfeedDequeueTuple PlaceholderWithDefault _Arg", "a feature of the model"},
    {"OutfeedEnqueue OutfeedEnqueueTuple _Retval", "a prediction or summary of the model"},
    {"FakeParam XlaHostCompute XlaRecv XlaRecvFromHost XlaSend XlaSendToHost _ArrayToList "
     "_ListToArray"},

    // ---- what a TPU does not have
    {"boolean_mask dynamic_partition nonzero setdiff1d unique unique_with_counts where",
     "op mul or op select, which weigh with 0 what is left out: its result is as large as the data "
     "says, and a shape must not depend on that"},
    {"Placeholder", "a feature of the model: features come through the infeed alone"},
    {"Print AudioSummary HistogramSummary ImageSummary MergeSummary ScalarSummary "
     "TensorSummary",
     "a summary of the model, which the host writes (tpurun help summaries)"},
    {"TensorListFromTensor TensorListGetItem TensorListLength TensorListSetItem TensorListStack",
     "layers lstm, gru and simple_rnn, which loop over time"},
    {"Einsum", "op batch_matmul"},
    {"VariableV2 ScatterUpdate", "layers that have variables"},
    {"Bincount DenseBincount HashTable LookupTableFind MutableHashTable StringToNumber AsString "
     "DecodeCSV DecodeRaw DecodeJpeg DecodePng DecodeImage DecodeGif DecodeBmp ParseExample "
     "ParseSingleExample ParseSequenceExample PyFunc EagerPyFunc StaticRegexReplace StringLower "
     "ReadFile IteratorGetNext OneShotIterator",
     "the input, before it is fed (tpurun help transforms)"},
    {"segment_sum", "op scatter_add"},
    {"scatter_nd_update", "op set_rows"},
    {"scatter_nd_add", "op scatter_add"},
    {"confusion_matrix", "eval_metric { confusion_matrix }"},
    {"histogram_fixed_width", "summary { histogram } of the model"},
    {"count_nonzero", "op reduce_sum of 0 and 1 (op convert)"},
    {"to_double", "op convert to f32"},
    {"random_crop", "the input, before it is fed"},
    {"string_* string_join string_length string_split string_strip string_to_hash_bucket "
     "string_to_hash_bucket_fast string_to_hash_bucket_strong substr "
     "edit_distance",
     "the input, before it is fed (tpurun help transforms)"},
    {"sparse_* sparse_add sparse_concat sparse_fill_empty_rows sparse_mask sparse_maximum "
     "sparse_merge "
     "sparse_minimum sparse_placeholder sparse_reduce_max sparse_reduce_sum sparse_reorder "
     "sparse_reset_shape sparse_reshape sparse_retain sparse_segment_mean sparse_segment_sqrt_n "
     "sparse_segment_sum sparse_slice sparse_softmax sparse_split sparse_tensor_dense_matmul "
     "sparse_tensor_to_dense sparse_to_indicator sparse_transpose",
     "op gather and op scatter_add of dense values"},
    {"betainc count_up_to create_partitioned_variables dequantize "
     "fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient "
     "igamma igammac lbeta matrix_determinant matrix_inverse matrix_solve matrix_solve_ls "
     "polygamma "
     "quantize_v2 quantized_concat random_gamma random_poisson scatter_div scatter_mul "
     "scatter_nd_sub segment_max segment_mean segment_min segment_prod self_adjoint_eig "
     "self_adjoint_eigvals svd zeta"},
};

std::vector<std::string> NamesIn(std::string_view names) {
  return absl::StrSplit(ToAbsl(names), ' ', absl::SkipEmpty());
}

}  // namespace

std::span<const TensorFlowOps> TensorFlowOpList() { return kOps; }

bool TpuHas(const TensorFlowOps& row) {
  const auto has = [](const std::string& op) { return TpuHasOp(op); };
  const std::vector<std::string> parts = NamesIn(row.made_of);
  if (!parts.empty()) return std::all_of(parts.begin(), parts.end(), has);
  const std::vector<std::string> names = NamesIn(row.names);
  return std::any_of(names.begin(), names.end(), has);
}

std::string OpOfSpelling(std::string_view name) {
  static const auto& names = *[] {
    auto* const made = new std::map<std::string, std::string>;
    for (const OpDef* op : AllOps()) {
      if (IsLayerOp(*op)) made->emplace(OpSpelling(op->name), op->name);
    }
    return made;
  }();
  const auto found = names.find(OpSpelling(name));
  return found == names.end() ? "" : found->second;
}

std::string LayerOfSpelling(std::string_view name) {
  static const auto& names = *[] {
    auto* const made = new std::map<std::string, std::string>;
    for (const LayerDef& layer : LayerList()) made->emplace(OpSpelling(layer.name), layer.name);
    return made;
  }();
  const auto found = names.find(OpSpelling(name));
  return found == names.end() ? "" : found->second;
}

const TensorFlowOps* FindTensorFlowOp(std::string_view name) {
  static const auto& rows = *[] {
    auto* const made = new std::map<std::string, const TensorFlowOps*>;
    for (const TensorFlowOps& row : kOps) {
      for (const std::string& op : NamesIn(row.names)) made->emplace(OpSpelling(op), &row);
    }
    return made;
  }();
  const auto found = rows.find(OpSpelling(name));
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace tpurun
