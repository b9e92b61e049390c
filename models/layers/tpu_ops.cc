#include "models/layers/tpu_ops.h"

#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Source of what a TPU has: Google's page "Available TensorFlow Ops" of the Cloud TPU documentation
// (docs.cloud.google.com/tpu/docs/tensorflow-ops, of 2026-04-09, CC BY 4.0). The page's names are
// in CamelCase. The names of the Python API are added in snake_case if they differ. An op that the
// TPU has counts as available, even if the page says that its Python API is not. Ops that tpurun
// has under the same name are left out.
constexpr TensorFlowOps kOps[] = {
    // ---- element-wise
    {"Abs", true, "op maximum of x and op neg of x"},
    {"AddN accumulate_n", true, "layer add of all of them"},
    {"Less", true, "op greater with its operands exchanged"},
    {"LessEqual", true, "op greater_equal with its operands exchanged"},
    {"NotEqual", true, "op select of an op equal, with its two values exchanged"},
    {"LogicalNot", true, "op select, with its two values exchanged"},
    {"LogicalAnd", true, "op mul of both as 0 and 1 (op convert)"},
    {"LogicalOr", true, "op maximum of both as 0 and 1 (op convert)"},
    {"Negative", true, "op neg"},
    {"Subtract", true, "op sub"},
    {"RealDiv TruncateDiv divide truediv", true, "op div"},
    {"DivNoNan", true, "op div, with op select where y is 0"},
    {"FloorDiv", true, "op floor of an op div"},
    {"FloorMod Mod TruncateMod", true, "op sub of x and y times an op floor of x / y"},
    {"Inv Reciprocal", true, "op div of 1 (op constant) and x"},
    {"SquaredDifference", true, "op square of an op sub"},
    {"Log1p", true, "op log of x + 1 (op add, op constant)"},
    {"Expm1", true, "op sub of an op exp and 1 (op constant)"},
    {"LogSoftmax", true, "op log of an op softmax"},
    {"Erfc", true, "op sub of 1 (op constant) and an op erf"},
    {"Cosh Sinh", true, "ops exp of x and of -x (op neg)"},
    {"Tan", true, "op div of an op sin and an op cos"},
    {"Ceil", true, "op neg of an op floor of -x (op neg)"},
    {"Round Rint", true, "op floor of x + 0.5 (op add, op constant), which rounds halves up"},
    {"Sign", true, "ops select of op greater"},
    {"ClipByValue", true, "op minimum of an op maximum"},
    {"Relu6", true, "op minimum of an op relu and 6 (op constant)"},
    {"LeakyRelu", true, "op maximum of x and an op mul of x"},
    {"Selu", true, "op mul of an op elu"},
    {"Softsign", true, "op div of x and 1 + the op maximum of x and -x"},
    {"silu swish", true, "op mul of x and an op sigmoid"},
    {"IsNan", true, "op equal of x and x, which is false for a NaN"},
    {"Xlogy Xdivy", true, "op mul or op div, with op select where x is 0"},
    {"Cast", true, "op convert"},
    {"Acos Acosh Angle ApproximateEqual Asin Asinh Atan Atan2 Atanh Bitcast BitwiseAnd BitwiseOr "
     "BitwiseXor Complex ComplexAbs Conj Digamma Imag Invert IsFinite IsInf LeftShift Lgamma Real "
     "RightShift FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars QuantizeAndDequantizeV2 "
     "XlaDequantize"},
    {"EluGrad LeakyReluGrad ReciprocalGrad Relu6Grad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad "
     "SoftsignGrad SqrtGrad TanhGrad FakeQuantWithMinMaxArgsGradient "
     "FakeQuantWithMinMaxVarsGradient AvgPool3DGrad BiasAddGrad FusedBatchNormGrad LRNGrad "
     "MaxPool3DGrad MaxPool3DGradGrad MaxPoolGradGrad ResizeBilinearGrad StridedSliceGrad "
     "BroadcastGradientArgs SymbolicGradient",
     true, "the function itself: tpurun takes its gradient"},
    // ---- over axes
    {"Sum XlaReduce", true, "op reduce_sum"},
    {"Max", true, "op reduce_max"},
    {"Min reduce_min", true, "op neg of an op reduce_max of -x (op neg)"},
    {"Mean reduce_mean", true,
     "op reduce_sum and op mul by 1 / n, or over height and width layer global_average_pooling2d"},
    {"Any reduce_any", true, "op reduce_max of 0 and 1 (op convert)"},
    {"All reduce_all", true, "op neg of an op reduce_max of -x (op neg), of 0 and 1 (op convert)"},
    {"ArgMin", true, "op argmax of -x (op neg)"},
    {"L2Loss", true, "op l2_loss_of_rows, or regularization { l2 } of the model"},
    {"TopK", true, "op argmax for the first, metric in_top_k"},
    {"Prod reduce_prod Cumprod Cumsum XlaKeyValueSort XlaSort argsort sort NonMaxSuppressionV4 "
     "XlaReduceWindow XlaSelectAndScatter"},
    // ---- arrays
    {"Identity IdentityN Snapshot PreventGradient", true,
     "nothing: whoever reads it names the same input"},
    {"StopGradient", true, "trainable: false of the layers before it"},
    {"Assert CheckNumerics NoOp ControlTrigger", true,
     "nothing: a TPU ignores it, and tpurun looks for NaN and infinity at every step"},
    {"Pack stack", true, "layer concat, and layer reshape"},
    {"Split SplitV GetItem StridedSlice XlaDynamicSlice", true, "layer slice, one for each part"},
    {"Unpack unstack", true, "layer slice and layer reshape, one of each for each part"},
    {"ExpandDims Squeeze", true, "layer reshape"},
    {"BroadcastTo XlaBroadcastHelper", true, "op broadcast"},
    {"Tile repeat", true, "layer concat of the same input several times"},
    {"MirrorPad XlaPad", true, "op pad, which pads with one value"},
    {"ReverseSequence", true, "op reverse, which knows no lengths"},
    {"Const Fill Empty OnesLike ZerosLike ones zeros Shape ShapeN Size Rank VariableShape", true,
     "op constant: every shape is known before the run"},
    {"Range LinSpace", true, "op iota"},
    {"GatherNd", true, "op gather, with batch_dims"},
    {"ScatterNd UnsortedSegmentSum", true, "op scatter_add"},
    {"InplaceUpdate XlaDynamicUpdateSlice", true, "op set_rows"},
    {"DepthToSpace SpaceToDepth BatchToSpace SpaceToBatch BatchToSpaceND SpaceToBatchND", true,
     "layer permute between two of layer reshape"},
    {"ConjugateTranspose", true, "op transpose"},
    {"BroadcastArgs Bucketize ConcatOffset DataFormatVecPermute Diag DiagPart DynamicStitch "
     "InplaceAdd InvertPermutation ListDiff MatrixBandPart MatrixDiag MatrixDiagPart MatrixSetDiag "
     "ParallelDynamicStitch SparseToDense UnsortedSegmentMax UnsortedSegmentMin "
     "UnsortedSegmentProd"},
    // ---- products, convolutions, normalizations
    {"SparseMatMul XlaDot", true, "op matmul, op batch_matmul"},
    {"Conv2DBackpropInput", true, "layer conv2d_transpose, op conv2d_input_grad"},
    {"Conv2DBackpropFilter", true, "op conv2d_filter_grad"},
    {"DepthwiseConv2dNative depthwise_conv2d separable_conv2d", true,
     "layer conv2d with as many groups as channels"},
    {"XlaConv convolution conv1d", true, "layer conv2d, op conv2d"},
    {"Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2", true,
     "layer conv2d, of two dimensions"},
    {"AvgPool3D", true, "layer average_pooling2d, of two dimensions"},
    {"MaxPool3D", true, "layer max_pooling2d, of two dimensions"},
    {"FusedBatchNorm fused_batch_norm", true, "layer batch_normalization"},
    {"LRN local_response_normalization", true,
     "layer batch_normalization, layer layer_normalization"},
    {"SoftmaxCrossEntropyWithLogits", true, "op softmax_cross_entropy"},
    {"SparseSoftmaxCrossEntropyWithLogits", true, "op sparse_softmax_cross_entropy"},
    {"sigmoid_cross_entropy_with_logits", true, "a loss sigmoid_cross_entropy of the model"},
    {"Cholesky Cross DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
     "ExtractImagePatches FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D "
     "MatrixTriangularSolve Qr RFFT RFFT2D RFFT3D"},
    {"AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB RGBToHSV ResizeBilinear "
     "ResizeNearestNeighbor"},
    // ---- chance
    {"RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal StatelessRandomNormal "
     "StatelessRandomUniform StatelessRandomUniformInt StatelessTruncatedNormal random_normal",
     true, "layer dropout, which alone draws"},
    {"RandomShuffle", true, "the transform shuffle of the input"},
    {"Multinomial StatelessMultinomial categorical", true, "predict { generate { ... } }"},
    // ---- control flow, variables, cores: what a model has no ops for
    {"If StatelessIf XlaIf cond case", true, "op select of the results of both branches"},
    {"While StatelessWhile XlaWhile while_loop scan map_fn StackCloseV2 StackPopV2 StackPushV2 "
     "TensorArrayV3 TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 "
     "TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 "
     "TensorArrayWriteV3 EmptyTensorList TensorListElementShape TensorListPopBack "
     "TensorListPushBack TensorListReserve",
     true, "layers lstm, gru and simple_rnn, which loop over time"},
    {"AssignAddVariableOp AssignSubVariableOp AssignVariableOp ReadVariableOp ResourceScatterAdd "
     "ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
     "ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub "
     "ResourceScatterUpdate ResourceStridedSliceAssign VarIsInitializedOp assign assign_add "
     "assign_sub",
     true, "layers that have variables"},
    {"ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA "
     "ResourceApplyAdam ResourceApplyAddSign ResourceApplyCenteredRMSProp ResourceApplyFtrl "
     "ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum "
     "ResourceApplyPowerSign ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent "
     "ResourceApplyRMSProp",
     true, "an optimizer of the model (tpurun help optimizers)"},
    {"ResourceGather RecvTPUEmbeddingActivations SendTPUEmbeddingGradients TPUEmbeddingActivations "
     "embedding_lookup",
     true, "layer embedding"},
    {"AllToAll CollectivePermute CrossReplicaSum", true,
     "optimizer { cross_shard { reduction: MEAN } }"},
    {"InfeedDequeue InfeedDequeueTuple PlaceholderWithDefault _Arg", true,
     "a feature of the model"},
    {"OutfeedEnqueue OutfeedEnqueueTuple _Retval", true, "a prediction or summary of the model"},
    {"FakeParam XlaHostCompute XlaRecv XlaRecvFromHost XlaSend XlaSendToHost _ArrayToList "
     "_ListToArray"},

    // ---- what a TPU does not have
    {"boolean_mask dynamic_partition nonzero setdiff1d unique unique_with_counts where", false,
     "op mul or op select, which weigh with 0 what is left out: its result is as large as the data "
     "says, and a shape must not depend on that"},
    {"Placeholder", false, "a feature of the model: features come through the infeed alone"},
    {"Print AudioSummary HistogramSummary ImageSummary MergeSummary ScalarSummary "
     "TensorSummary",
     false, "a summary of the model, which the host writes (tpurun help summaries)"},
    {"segment_sum", false, "op scatter_add"},
    {"scatter_nd_update", false, "op set_rows"},
    {"scatter_nd_add", false, "op scatter_add"},
    {"confusion_matrix", false, "eval_metric { confusion_matrix }"},
    {"histogram_fixed_width", false, "summary { histogram } of the model"},
    {"count_nonzero", false, "op reduce_sum of 0 and 1 (op convert)"},
    {"to_double", false, "op convert to f32"},
    {"random_crop", false, "the input, before it is fed"},
    {"string_join string_length string_split string_strip string_to_hash_bucket "
     "string_to_hash_bucket_fast string_to_hash_bucket_strong string_to_number substr py_func "
     "edit_distance",
     false, "the input, before it is fed (tpurun help transforms)"},
    {"sparse_add sparse_concat sparse_fill_empty_rows sparse_mask sparse_maximum sparse_merge "
     "sparse_minimum sparse_placeholder sparse_reduce_max sparse_reduce_sum sparse_reorder "
     "sparse_reset_shape sparse_reshape sparse_retain sparse_segment_mean sparse_segment_sqrt_n "
     "sparse_segment_sum sparse_slice sparse_softmax sparse_split sparse_tensor_dense_matmul "
     "sparse_tensor_to_dense sparse_to_indicator sparse_transpose",
     false, "op gather and op scatter_add of dense values"},
    {"betainc count_up_to create_partitioned_variables dequantize "
     "fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient "
     "igamma igammac lbeta matrix_determinant matrix_inverse matrix_solve matrix_solve_ls "
     "polygamma "
     "quantize_v2 quantized_concat random_gamma random_poisson scatter_div scatter_mul "
     "scatter_nd_sub segment_max segment_mean segment_min segment_prod self_adjoint_eig "
     "self_adjoint_eigvals svd zeta",
     false},
};

}  // namespace

std::span<const TensorFlowOps> TensorFlowOpList() { return kOps; }

std::string OpSpelling(std::string_view name) {
  name.remove_prefix(name.rfind('.') + 1);  // npos + 1 is 0
  std::string spelling;
  for (const char c : name) {
    if (c != '_') spelling += absl::ascii_tolower(c);
  }
  const size_t size = spelling.size();
  const bool versioned =
      size > 2 && spelling[size - 2] == 'v' && absl::ascii_isdigit(spelling[size - 1]);
  return versioned ? spelling.substr(0, size - 2) : spelling;
}

const TensorFlowOps* FindTensorFlowOp(std::string_view name) {
  static const auto& rows = *[] {
    auto* const made = new std::map<std::string, const TensorFlowOps*>;
    for (const TensorFlowOps& row : kOps) {
      for (const absl::string_view op : absl::StrSplit(ToAbsl(row.names), ' ')) {
        made->emplace(OpSpelling({op.data(), op.size()}), &row);
      }
    }
    return made;
  }();
  const auto found = rows.find(OpSpelling(name));
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace tpurun
