#include "runtime/tpu/tensorflow_ops.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/text.h"
#include "runtime/tpu/op_spelling.h"

namespace tpurun {
namespace {

// Source: Google's page "Available TensorFlow Ops" of the Cloud TPU documentation
// (docs.cloud.google.com/tpu/docs/tensorflow-ops, of 2026-04-09, CC BY 4.0), whose names, types
// and constant operands these are. Numbers of operands, which it does not have, are those of
// TensorFlow's op definitions. What is dropped or refused when a graph is built for a TPU is in
// tensorflow/python/tpu/tpu.py of TensorFlow 1.15.
constexpr TpuOp kOperators[] = {
    {"Abs", "T=bfloat16,float,int32,int64"},
    {"Acos", "T=signed"},
    {"Acosh", "T=bfloat16,complex64,float"},
    {"Add", "T=signed"},
    {"AddN", "T=number"},
    {"AdjustContrastv2", "T=float"},
    {"AdjustHue", "T=float"},
    {"AdjustSaturation", "T=float"},
    {"All", "Tidx=index", "axis:1"},
    {"AllToAll", "T=bfloat16,float"},
    {"Angle", "T=complex64 Tout=float"},
    {"Any", "Tidx=index", "axis:1"},
    {"ApproximateEqual", "T=number"},
    {"ArgMax", "T=number Tidx=index output_type=index", "dimension:1"},
    {"ArgMin", "T=number Tidx=index output_type=index", "dimension:1"},
    {"Asin", "T=signed"},
    {"Asinh", "T=bfloat16,complex64,float"},
    {"Assert", "T=any,string", "", "accepted and ignored", TpuOpStatus::kIgnored},
    {"AssignAddVariableOp", "dtype=number"},
    {"AssignSubVariableOp", "dtype=number"},
    {"AssignVariableOp", "dtype=any"},
    {"Atan", "T=signed"},
    {"Atan2", "T=bfloat16,float"},
    {"Atanh", "T=bfloat16,complex64,float"},
    {"AvgPool", "T=bfloat16,float"},
    {"AvgPool3D", "T=bfloat16,float"},
    {"AvgPool3DGrad", "T=bfloat16,float"},
    {"AvgPoolGrad", "T=bfloat16,float"},
    {"BatchMatMul", "T=signed"},
    {"BatchToSpace", "T=any Tidx=index", "crops:1 block_shape:-"},
    {"BatchToSpaceND", "T=any Tcrops=index Tblock_shape=index", "crops:2"},
    {"BiasAdd", "T=number"},
    {"BiasAddGrad", "T=number"},
    {"BiasAddV1", "T=number"},
    {"Bitcast", "type=number T=number"},
    {"BitwiseAnd", "T=integer"},
    {"BitwiseOr", "T=integer"},
    {"BitwiseXor", "T=integer"},
    {"BroadcastArgs", "T=index"},
    {"BroadcastGradientArgs", "T=index"},
    {"BroadcastTo", "T=any Tidx=index"},
    {"Bucketize", "T=float,int32,int64"},
    {"Cast", "DstT=any SrcT=any"},
    {"Ceil", "T=bfloat16,float"},
    {"CheckNumerics", "T=bfloat16,float", "", "accepted and ignored", TpuOpStatus::kIgnored},
    {"Cholesky", "T=float", "", "experimental, numerical precision"},
    {"ClipByValue", "T=number"},
    {"CollectivePermute", "T=bfloat16,float"},
    {"Complex", "T=float Tout=complex64"},
    {"ComplexAbs", "T=complex64 Tout=float"},
    {"Concat", "T=any", "concat_dim:0"},
    {"ConcatOffset"},
    {"ConcatV2", "T=any Tidx=int32", "axis:-1"},
    {"Conj", "T=complex64"},
    {"ConjugateTranspose", "T=any Tperm=index"},
    {"Const", "dtype=any,string"},
    {"ControlTrigger"},
    {"Conv2D", "T=bfloat16,float"},
    {"Conv2DBackpropFilter", "T=bfloat16,float"},
    {"Conv2DBackpropInput", "T=bfloat16,float"},
    {"Conv3D", "T=bfloat16,float"},
    {"Conv3DBackpropFilterV2", "T=bfloat16,float"},
    {"Conv3DBackpropInputV2", "T=bfloat16,float Tshape=index"},
    {"Cos", "T=bfloat16,complex64,float"},
    {"Cosh", "T=bfloat16,complex64,float"},
    {"Cross", "T=real"},
    {"CrossReplicaSum", "T=bfloat16,float"},
    {"Cumprod", "T=bfloat16,float,int32 Tidx=index", "axis:1"},
    {"Cumsum", "T=bfloat16,float,int32 Tidx=index", "axis:1"},
    {"DataFormatVecPermute", "T=index"},
    {"DepthToSpace", "T=any"},
    {"DepthwiseConv2dNative", "T=bfloat16,float"},
    {"DepthwiseConv2dNativeBackpropFilter", "T=bfloat16,float"},
    {"DepthwiseConv2dNativeBackpropInput", "T=bfloat16,float"},
    {"Diag", "T=signed"},
    {"DiagPart", "T=signed"},
    {"Digamma", "T=bfloat16,float"},
    {"Div", "T=signed", "", "int32 slower than other types"},
    {"DivNoNan", "T=float"},
    {"DynamicStitch", "T=any", "indices:0*"},
    {"Elu", "T=bfloat16,float"},
    {"EluGrad", "T=bfloat16,float"},
    {"Empty", "dtype=any"},
    {"EmptyTensorList", "element_dtype=any shape_type=index"},
    {"Equal", "T=bfloat16,bool,complex64,float,int32,int64"},
    {"Erf", "T=bfloat16,float"},
    {"Erfc", "T=bfloat16,float"},
    {"Exp", "T=bfloat16,complex64,float"},
    {"ExpandDims", "T=any Tdim=index", "dim:1"},
    {"Expm1", "T=bfloat16,complex64,float"},
    {"ExtractImagePatches", "T=real"},
    {"FFT", "Tcomplex=complex64"},
    {"FFT2D", "Tcomplex=complex64"},
    {"FFT3D", "Tcomplex=complex64"},
    {"FakeParam", "dtype=any"},
    {"FakeQuantWithMinMaxArgs"},
    {"FakeQuantWithMinMaxArgsGradient"},
    {"FakeQuantWithMinMaxVars"},
    {"FakeQuantWithMinMaxVarsGradient"},
    {"Fill", "T=any index_type=index", "dims:0"},
    {"Floor", "T=bfloat16,float"},
    {"FloorDiv", "T=signed"},
    {"FloorMod", "T=bfloat16,float,int32,int64"},
    {"FusedBatchNorm", "T=float"},
    {"FusedBatchNormGrad", "T=float"},
    {"FusedBatchNormGradV2", "T=bfloat16,float U=float"},
    {"FusedBatchNormV2", "T=bfloat16,float U=float"},
    {"Gather", "Tparams=any Tindices=index"},
    {"GatherNd", "Tparams=any Tindices=index"},
    {"GatherV2", "Tparams=any Tindices=index Taxis=index", "axis:2"},
    {"GetItem", "T=any"},
    {"Greater", "T=real"},
    {"GreaterEqual", "T=real"},
    {"HSVToRGB", "T=bfloat16,float"},
    {"IFFT", "Tcomplex=complex64"},
    {"IFFT2D", "Tcomplex=complex64"},
    {"IFFT3D", "Tcomplex=complex64"},
    {"IRFFT", "", "fft_length:1"},
    {"IRFFT2D", "", "fft_length:1"},
    {"IRFFT3D", "", "fft_length:1"},
    {"Identity", "T=any,resource"},
    {"IdentityN", "T=any,resource"},
    {"If", "Tin=any,resource Tout=any,resource Tcond=any,resource"},
    {"Imag", "T=complex64 Tout=float"},
    {"InfeedDequeue", "dtype=any"},
    {"InfeedDequeueTuple", "dtypes=any"},
    {"InplaceAdd", "T=any"},
    {"InplaceUpdate", "T=any"},
    {"Inv", "T=signed"},
    {"Invert", "T=integer"},
    {"InvertPermutation", "T=int32", "x:0"},
    {"IsFinite", "T=bfloat16,float"},
    {"IsInf", "T=bfloat16,float"},
    {"IsNan", "T=bfloat16,float"},
    {"L2Loss", "T=bfloat16,float"},
    {"LRN", "T=bfloat16,float"},
    {"LRNGrad", "T=bfloat16,float"},
    {"LeakyRelu", "T=bfloat16,float"},
    {"LeakyReluGrad", "T=bfloat16,float"},
    {"LeftShift", "T=integer"},
    {"Less", "T=real"},
    {"LessEqual", "T=real"},
    {"Lgamma", "T=bfloat16,float"},
    {"LinSpace", "T=bfloat16,float Tidx=index", "start:0 stop:1 num:2"},
    {"ListDiff", "T=index out_idx=index"},
    {"Log", "T=bfloat16,complex64,float"},
    {"Log1p", "T=bfloat16,complex64,float"},
    {"LogSoftmax", "T=bfloat16,float"},
    {"LogicalAnd"},
    {"LogicalNot"},
    {"LogicalOr"},
    {"MatMul", "T=bfloat16,complex64,float", "", "bf16 multiply, f32 accumulate"},
    {"MatrixBandPart", "T=any Tindex=index"},
    {"MatrixDiag", "T=any"},
    {"MatrixDiagPart", "T=any"},
    {"MatrixSetDiag", "T=any"},
    {"MatrixTriangularSolve", "T=complex64,float", "", "experimental, numerical precision"},
    {"Max", "T=number Tidx=index", "axis:1"},
    {"MaxPool", "T=bfloat16,float,int32,int64"},
    {"MaxPool3D", "T=bfloat16,float"},
    {"MaxPool3DGrad", "T=bfloat16,float TInput=bfloat16,float"},
    {"MaxPool3DGradGrad", "T=float"},
    {"MaxPoolGrad", "T=real"},
    {"MaxPoolGradGrad", "T=float"},
    {"MaxPoolGradGradV2", "T=float"},
    {"MaxPoolGradV2", "T=real"},
    {"MaxPoolV2", "T=bfloat16,float,int32,int64"},
    {"Maximum", "T=bfloat16,float,int32,int64"},
    {"Mean", "T=number Tidx=index", "axis:1"},
    {"Min", "T=number Tidx=index", "axis:1"},
    {"Minimum", "T=bfloat16,float,int32,int64"},
    {"MirrorPad", "T=any Tpaddings=index", "paddings:1", "no REFLECT gradient"},
    {"Mod", "T=bfloat16,float,int32,int64"},
    {"Mul", "T=signed"},
    {"Multinomial", "T=real output_dtype=index", "num_samples:1"},
    {"Neg", "T=signed"},
    {"NoOp"},
    {"NonMaxSuppressionV4", "T=float"},
    {"NotEqual", "T=bfloat16,bool,complex64,float,int32,int64"},
    {"OneHot", "T=any TI=index", "depth:1"},
    {"OnesLike", "T=bfloat16,bool,complex64,float,int32,int64"},
    {"OutfeedEnqueue", "dtype=any"},
    {"OutfeedEnqueueTuple", "dtypes=any"},
    {"Pack", "T=any"},
    {"Pad", "T=any Tpaddings=index", "paddings:1"},
    {"PadV2", "T=any Tpaddings=index", "paddings:1"},
    {"ParallelDynamicStitch", "T=any"},
    {"PlaceholderWithDefault", "dtype=any"},
    {"Pow", "T=signed"},
    {"PreventGradient", "T=any"},
    {"Prod", "T=number Tidx=index", "axis:1"},
    {"Qr", "T=float"},
    {"QuantizeAndDequantizeV2", "T=bfloat16,float"},
    {"QuantizeAndDequantizeV3", "T=bfloat16,float"},
    {"RFFT", "", "fft_length:1"},
    {"RFFT2D", "", "fft_length:1"},
    {"RFFT3D", "", "fft_length:1"},
    {"RGBToHSV", "T=bfloat16,float"},
    {"RandomShuffle", "T=any"},
    {"RandomStandardNormal", "T=index dtype=bfloat16,float", "shape:0"},
    {"RandomUniform", "T=index dtype=bfloat16,float", "shape:0"},
    {"RandomUniformInt", "T=index Tout=index"},
    {"Range", "Tidx=bfloat16,float,int32,int64", "start:0 limit:1 delta:2"},
    {"Rank", "T=any"},
    {"ReadVariableOp", "dtype=any"},
    {"Real", "T=complex64 Tout=float"},
    {"RealDiv", "T=signed", "", "int32 slower than other types"},
    {"Reciprocal", "T=signed"},
    {"ReciprocalGrad", "T=bfloat16,complex64,float"},
    {"RecvTPUEmbeddingActivations"},
    {"Relu", "T=real"},
    {"Relu6", "T=real"},
    {"Relu6Grad", "T=real"},
    {"ReluGrad", "T=real"},
    {"Reshape", "T=any Tshape=index", "shape:1"},
    {"ResizeBilinear", "T=bfloat16,float,int32,int64 align_corners=true", "size:1"},
    {"ResizeBilinearGrad", "T=bfloat16,float"},
    {"ResizeNearestNeighbor", "T=float,int32,int64"},
    {"ResourceApplyAdaMax", "T=bfloat16,float"},
    {"ResourceApplyAdadelta", "T=bfloat16,float"},
    {"ResourceApplyAdagrad", "T=bfloat16,float"},
    {"ResourceApplyAdagradDA", "T=bfloat16,float"},
    {"ResourceApplyAdam", "T=bfloat16,float"},
    {"ResourceApplyAddSign", "T=bfloat16,float"},
    {"ResourceApplyCenteredRMSProp", "T=bfloat16,float"},
    {"ResourceApplyFtrl", "T=bfloat16,float"},
    {"ResourceApplyFtrlV2", "T=bfloat16,float"},
    {"ResourceApplyGradientDescent", "T=bfloat16,float"},
    {"ResourceApplyKerasMomentum", "T=bfloat16,float"},
    {"ResourceApplyMomentum", "T=bfloat16,float"},
    {"ResourceApplyPowerSign", "T=bfloat16,float"},
    {"ResourceApplyProximalAdagrad", "T=bfloat16,float"},
    {"ResourceApplyProximalGradientDescent", "T=bfloat16,float"},
    {"ResourceApplyRMSProp", "T=bfloat16,float"},
    {"ResourceGather", "dtype=any Tindices=index"},
    {"ResourceScatterAdd", "dtype=number Tindices=index"},
    {"ResourceScatterDiv", "dtype=number Tindices=index"},
    {"ResourceScatterMax", "dtype=number Tindices=index"},
    {"ResourceScatterMin", "dtype=number Tindices=index"},
    {"ResourceScatterMul", "dtype=number Tindices=index"},
    {"ResourceScatterNdAdd", "T=any Tindices=index"},
    {"ResourceScatterNdSub", "T=any Tindices=index"},
    {"ResourceScatterNdUpdate", "T=any Tindices=index"},
    {"ResourceScatterSub", "dtype=number Tindices=index"},
    {"ResourceScatterUpdate", "dtype=any Tindices=index"},
    {"ResourceStridedSliceAssign", "T=any Index=index"},
    {"Reverse", "T=bool,complex64,float,int32,int64", "dims:1"},
    {"ReverseSequence", "T=any Tlen=index"},
    {"ReverseV2", "T=bfloat16,bool,complex64,float,int32,int64 Tidx=index", "axis:1"},
    {"RightShift", "T=integer"},
    {"Rint", "T=bfloat16,float"},
    {"Round", "T=signed"},
    {"Rsqrt", "T=bfloat16,complex64,float"},
    {"RsqrtGrad", "T=bfloat16,complex64,float"},
    {"ScatterNd", "T=any Tindices=index"},
    {"Select", "T=any", "", "where(): x and y both required"},
    {"Selu", "T=bfloat16,float"},
    {"SeluGrad", "T=bfloat16,float"},
    {"SendTPUEmbeddingGradients"},
    {"Shape", "T=any out_type=index"},
    {"ShapeN", "T=any out_type=index"},
    {"Sigmoid", "T=bfloat16,complex64,float"},
    {"SigmoidGrad", "T=bfloat16,complex64,float"},
    {"Sign", "T=signed"},
    {"Sin", "T=bfloat16,complex64,float"},
    {"Sinh", "T=bfloat16,complex64,float"},
    {"Size", "T=any out_type=index"},
    {"Slice", "T=any Index=index", "size:2 begin:1~2",
     "begin only if size may be -1; both for the gradient"},
    {"Snapshot", "T=any"},
    {"Softmax", "T=bfloat16,float"},
    {"SoftmaxCrossEntropyWithLogits", "T=bfloat16,float"},
    {"Softplus", "T=bfloat16,float"},
    {"SoftplusGrad", "T=bfloat16,float"},
    {"Softsign", "T=bfloat16,float"},
    {"SoftsignGrad", "T=bfloat16,float"},
    {"SpaceToBatch", "T=any Tpaddings=index", "paddings:1 block_shape:-"},
    {"SpaceToBatchND", "T=any Tblock_shape=index Tpaddings=index", "paddings:2"},
    {"SpaceToDepth", "T=any"},
    {"SparseMatMul", "Ta=bfloat16,float Tb=bfloat16,float"},
    {"SparseSoftmaxCrossEntropyWithLogits", "T=bfloat16,float Tlabels=index"},
    {"SparseToDense", "T=any Tindices=index"},
    {"Split", "T=any", "axis:0"},
    {"SplitV", "T=any Tlen=index", "axis:2"},
    {"Sqrt", "T=bfloat16,complex64,float"},
    {"SqrtGrad", "T=bfloat16,complex64,float"},
    {"Square", "T=signed"},
    {"SquaredDifference", "T=signed"},
    {"Squeeze", "T=any"},
    {"StackCloseV2"},
    {"StackPopV2", "elem_type=any"},
    {"StackPushV2", "T=any"},
    {"StackV2", "elem_type=any"},
    {"StatelessIf", "Tin=any,resource Tout=any,resource Tcond=any,resource"},
    {"StatelessMultinomial", "Tseed=int32 T=bfloat16,float output_dtype=index"},
    {"StatelessRandomNormal", "Tseed=int32 T=index dtype=bfloat16,float"},
    {"StatelessRandomUniform", "Tseed=int32 T=index dtype=bfloat16,float"},
    {"StatelessRandomUniformInt", "Tseed=int32 T=index dtype=index"},
    {"StatelessTruncatedNormal", "Tseed=int32 T=index dtype=bfloat16,float"},
    {"StatelessWhile", "T=any,resource"},
    {"StopGradient", "T=any"},
    {"StridedSlice", "T=any Index=index", "begin:1 end:2 strides:3"},
    {"StridedSliceGrad", "T=any Index=index"},
    {"Sub", "T=signed"},
    {"Sum", "T=number Tidx=index", "axis:1"},
    {"SymbolicGradient", "Tin=any Tout=any"},
    {"TPUEmbeddingActivations"},
    {"Tan", "T=signed"},
    {"Tanh", "T=bfloat16,complex64,float"},
    {"TanhGrad", "T=bfloat16,complex64,float"},
    {"TensorArrayCloseV3"},
    {"TensorArrayConcatV3", "dtype=any"},
    {"TensorArrayGatherV3", "dtype=any"},
    {"TensorArrayGradV3"},
    {"TensorArrayReadV3", "dtype=any"},
    {"TensorArrayScatterV3", "T=any"},
    {"TensorArraySizeV3"},
    {"TensorArraySplitV3", "T=any"},
    {"TensorArrayV3", "dtype=any"},
    {"TensorArrayWriteV3", "T=any"},
    {"TensorListElementShape", "shape_type=index"},
    {"TensorListPopBack", "element_dtype=any"},
    {"TensorListPushBack", "element_dtype=any"},
    {"TensorListReserve", "element_dtype=any shape_type=index"},
    {"Tile", "T=any Tmultiples=index", "multiples:1"},
    {"TopKV2", "T=bfloat16,float,int32,uint32"},
    {"Transpose", "T=any Tperm=index", "perm:1"},
    {"TruncateDiv", "T=signed"},
    {"TruncateMod", "T=bfloat16,float,int32,int64"},
    {"TruncatedNormal", "T=index dtype=float", "shape:0"},
    {"Unpack", "T=any"},
    {"UnsortedSegmentMax", "T=real Tindices=index Tnumsegments=index"},
    {"UnsortedSegmentMin", "T=real Tindices=index Tnumsegments=index"},
    {"UnsortedSegmentProd", "T=number Tindices=index Tnumsegments=index"},
    {"UnsortedSegmentSum", "T=number Tindices=index Tnumsegments=index"},
    {"VarIsInitializedOp"},
    {"VariableShape", "out_type=index"},
    {"While", "T=any,resource", "", "gradient needs maximum_iterations"},
    {"Xdivy", "T=complex64,float"},
    {"XlaBroadcastHelper", "T=number Tindices=index"},
    {"XlaConv", "T=number Tindices=index"},
    {"XlaDequantize"},
    {"XlaDot", "T=number"},
    {"XlaDynamicSlice", "T=any Tindices=index"},
    {"XlaDynamicUpdateSlice", "T=any Tindices=index"},
    {"XlaHostCompute", "Tinputs=any Toutputs=any"},
    {"XlaIf", "Tin=any,resource Tout=any,resource Tcond=any,resource"},
    {"XlaKeyValueSort", "K=real V=any"},
    {"XlaPad", "T=any Tindices=index"},
    {"XlaRecv", "dtype=any"},
    {"XlaRecvFromHost", "Toutput=any"},
    {"XlaReduce", "T=number"},
    {"XlaReduceWindow", "T=number Tindices=index"},
    {"XlaSelectAndScatter", "T=number Tindices=index"},
    {"XlaSend", "T=any"},
    {"XlaSendToHost", "Tinput=any"},
    {"XlaSort", "T=any"},
    {"XlaWhile", "T=any,resource"},
    {"Xlogy", "T=complex64,float"},
    {"ZerosLike", "T=any"},
    {"_Arg", "T=any,resource"},
    {"_ArrayToList", "T=any out_types=any"},
    {"_ListToArray", "T=any Tin=any"},
    {"_Retval", "T=any,resource"},
};

constexpr std::string_view kDroppedOps[] = {"AudioSummary",  "AudioSummaryV2", "HistogramSummary",
                                            "ImageSummary",  "MergeSummary",   "Print",
                                            "ScalarSummary", "TensorSummary",  "TensorSummaryV2"};

constexpr TpuOp kRefusedOps[] = {
    {"Placeholder", "", "", "features come through the infeed alone", TpuOpStatus::kNo},
};

// The page's list of the Python API that is not available, in its order.
constexpr std::string_view kUnavailable[] = {"tf.accumulate_n",
                                             "tf.acos",
                                             "tf.asin",
                                             "tf.betainc",
                                             "tf.bitcast",
                                             "tf.confusion_matrix",
                                             "tf.count_nonzero",
                                             "tf.count_up_to",
                                             "tf.create_partitioned_variables",
                                             "tf.dequantize",
                                             "tf.digamma",
                                             "tf.dynamic_partition",
                                             "tf.edit_distance",
                                             "tf.fake_quant_with_min_max_vars_per_channel",
                                             "tf.fake_quant_with_min_max_vars_per_channel_gradient",
                                             "tf.histogram_fixed_width",
                                             "tf.igamma",
                                             "tf.igammac",
                                             "tf.lbeta",
                                             "tf.lgamma",
                                             "tf.matrix_determinant",
                                             "tf.matrix_inverse",
                                             "tf.matrix_solve",
                                             "tf.matrix_solve_ls",
                                             "tf.polygamma",
                                             "tf.py_func",
                                             "tf.qr",
                                             "tf.quantize_v2",
                                             "tf.quantized_concat",
                                             "tf.random_crop",
                                             "tf.random_gamma",
                                             "tf.random_poisson",
                                             "tf.random_shuffle",
                                             "tf.scatter_add",
                                             "tf.scatter_div",
                                             "tf.scatter_mul",
                                             "tf.scatter_nd_add",
                                             "tf.scatter_nd_sub",
                                             "tf.scatter_nd_update",
                                             "tf.segment_mean",
                                             "tf.segment_max",
                                             "tf.segment_min",
                                             "tf.segment_prod",
                                             "tf.segment_sum",
                                             "tf.self_adjoint_eig",
                                             "tf.self_adjoint_eigvals",
                                             "tf.setdiff1d",
                                             "tf.sparse_*",
                                             "tf.string_*",
                                             "tf.substr",
                                             "tf.svd",
                                             "tf.to_double",
                                             "tf.unique",
                                             "tf.unsorted_segment_max",
                                             "tf.zeta",
                                             "tf.bitwise.bitwise_xor",
                                             "tf.contrib.stateless.stateless_truncated_normal"};

constexpr TpuTypeGroup kGroups[] = {
    {"any", "bfloat16,bool,complex64,float,int32,int64,uint32,uint64"},
    {"number", "bfloat16,complex64,float,int32,int64,uint32,uint64"},
    {"signed", "bfloat16,complex64,float,int32,int64"},
    {"real", "bfloat16,float,int32,int64,uint32,uint64"},
    {"integer", "int32,int64,uint32,uint64"},
    {"index", "int32,int64"},
};

constexpr std::string_view kRewritten[] = {"Enter",
                                           "Exit",
                                           "LoopCond",
                                           "Merge",
                                           "NextIteration",
                                           "PartitionedCall",
                                           "StatefulPartitionedCall",
                                           "Switch",
                                           "VarHandleOp"};

std::string_view TypesOfGroup(std::string_view name) {
  for (const TpuTypeGroup& group : kGroups) {
    if (group.name == name) return group.types;
  }
  return name;
}

std::vector<std::string> PartsOf(std::string_view text, char separator) {
  return absl::StrSplit(ToAbsl(text), separator, absl::SkipEmpty());
}

// Operators that a TPU has, in the form of OpSpelling.
const std::set<std::string>& Spellings() {
  static const auto& spellings = *[] {
    auto* const made = new std::set<std::string>;
    for (const TpuOp& op : kOperators) made->insert(OpSpelling(op.name));
    return made;
  }();
  return spellings;
}

std::vector<TpuOp> MakeTable() {
  std::vector<TpuOp> table(std::begin(kOperators), std::end(kOperators));
  table.insert(table.end(), std::begin(kRefusedOps), std::end(kRefusedOps));
  for (const std::string_view name : kDroppedOps) {
    table.push_back({.name = name,
                     .remark = "left out with a warning; the host writes summaries",
                     .status = TpuOpStatus::kDropped});
  }
  for (const std::string_view name : kUnavailable) {
    table.push_back({.name = name, .status = TpuOpStatus::kNo, .later = TpuHasOp(name)});
  }
  return table;
}

// The length of "V2" at the end of a name; 0 if there is no version.
size_t VersionLength(std::string_view op) {
  const size_t size = op.size();
  const bool versioned = size > 2 && op[size - 2] == 'V' && absl::ascii_isdigit(op[size - 1]);
  return versioned ? 2 : 0;
}

}  // namespace

std::span<const TpuOp> TpuOps() {
  static const auto& table = *new std::vector<TpuOp>(MakeTable());
  return table;
}

const TpuOp* FindTpuOp(std::string_view op) {
  static const auto& rows = *[] {
    auto* const made = new std::map<std::string_view, const TpuOp*>;
    for (const TpuOp& row : TpuOps()) made->emplace(row.name, &row);
    return made;
  }();
  if (const auto row = rows.find(op); row != rows.end()) return row->second;
  if (VersionLength(op) == 0) return nullptr;
  const std::string_view base = op.substr(0, op.size() - VersionLength(op));
  for (char version = op.back() - 1; version > '1'; --version) {
    const auto row = rows.find(absl::StrCat(ToAbsl(base), "V", std::string(1, version)));
    if (row != rows.end()) return row->second;
  }
  const auto row = rows.find(base);
  return row == rows.end() ? nullptr : row->second;
}

bool IsRewrittenForTpu(std::string_view op) {
  return std::binary_search(std::begin(kRewritten), std::end(kRewritten), op);
}

std::span<const TpuTypeGroup> TpuTypeGroups() { return kGroups; }

std::vector<TpuTypeRule> TypeRulesOf(const TpuOp& op) {
  std::vector<TpuTypeRule> rules;
  for (const std::string& rule : PartsOf(op.types, ' ')) {
    const size_t equals = rule.find('=');
    std::vector<std::string> types;
    for (const std::string& part : PartsOf(std::string_view(rule).substr(equals + 1), ',')) {
      for (std::string& type : PartsOf(TypesOfGroup(part), ',')) types.push_back(std::move(type));
    }
    rules.push_back({rule.substr(0, equals), std::move(types)});
  }
  return rules;
}

std::vector<TpuConstant> ConstantsOf(const TpuOp& op) {
  std::vector<TpuConstant> constants;
  for (const std::string& constant : PartsOf(op.constants, ' ')) {
    const size_t colon = constant.find(':');
    const std::string place = constant.substr(colon + 1);
    TpuConstant made{.name = constant.substr(0, colon)};
    if (place == "-") {
      made.kind = TpuConstant::Kind::kAttribute;
    } else if (place == "0*") {
      made.kind = TpuConstant::Kind::kFirstN;
    } else {
      const std::vector<std::string> numbers = PartsOf(place, '~');
      made.operand = static_cast<int>(ParseInt64(numbers[0]).value());
      if (numbers.size() > 1)
        made.unless_positive = static_cast<int>(ParseInt64(numbers[1]).value());
    }
    constants.push_back(std::move(made));
  }
  return constants;
}

bool TpuHasOp(std::string_view name) { return Spellings().count(OpSpelling(name)) > 0; }

}  // namespace tpurun
