// The functions that the rows of layer_list.cc point to, grouped by the .cc file that defines them.
#ifndef TPURUN_MODELS_LAYERS_FAMILIES_H_
#define TPURUN_MODELS_LAYERS_FAMILIES_H_

#include "models/layers/layer.h"

namespace tpurun {

// activation.cc
Value BuildActivation(LayerContext& layer);
// attention.cc
void CheckMultiHeadAttention(const proto::Layer& layer, ConfigErrors& errors);
Value BuildMultiHeadAttention(LayerContext& layer);
std::vector<LayerBlock> ExpandTransformerBlock(const proto::Layer& layer);
// convolution.cc
void CheckConv1d(const proto::Layer& layer, ConfigErrors& errors);
Value BuildConv1d(LayerContext& layer);
void CheckConv2d(const proto::Layer& layer, ConfigErrors& errors);
Value BuildConv2d(LayerContext& layer);
void CanonicalizeConv2d(proto::Layer& layer);
void CheckConv2dTranspose(const proto::Layer& layer, ConfigErrors& errors);
Value BuildConv2dTranspose(LayerContext& layer);
void CanonicalizeConv2dTranspose(proto::Layer& layer);
void CheckDepthwiseConv2d(const proto::Layer& layer, ConfigErrors& errors);
Value BuildDepthwiseConv2d(LayerContext& layer);
void CanonicalizeDepthwiseConv2d(proto::Layer& layer);
void CheckSeparableConv2d(const proto::Layer& layer, ConfigErrors& errors);
Value BuildSeparableConv2d(LayerContext& layer);
void CanonicalizeSeparableConv2d(proto::Layer& layer);
// dense.cc
void CheckDense(const proto::Layer& layer, ConfigErrors& errors);
Value BuildDense(LayerContext& layer);
// dropout.cc
Value BuildDropout(LayerContext& layer);
// ids.cc
void CheckEmbedding(const proto::Layer& layer, ConfigErrors& errors);
Value BuildEmbedding(LayerContext& layer);
Value BuildGather(LayerContext& layer);
void CheckPositionEmbedding(const proto::Layer& layer, ConfigErrors& errors);
Value BuildPositionEmbedding(LayerContext& layer);
Value BuildSinusoidalPositionEmbedding(LayerContext& layer);
Value BuildOneHot(LayerContext& layer);
// merge.cc
Value BuildAdd(LayerContext& layer);
Value BuildMultiply(LayerContext& layer);
Value BuildSubtract(LayerContext& layer);
Value BuildAverage(LayerContext& layer);
Value BuildMaximum(LayerContext& layer);
Value BuildMinimum(LayerContext& layer);
Value BuildConcat(LayerContext& layer);
// normalization.cc
void CheckBatchNormalization(const proto::Layer& layer, ConfigErrors& errors);
Value BuildBatchNormalization(LayerContext& layer);
void CheckLayerNormalization(const proto::Layer& layer, ConfigErrors& errors);
Value BuildLayerNormalization(LayerContext& layer);
void CheckGroupNormalization(const proto::Layer& layer, ConfigErrors& errors);
Value BuildGroupNormalization(LayerContext& layer);
// nested.cc
std::vector<LayerBlock> ExpandResnetBlock(const proto::Layer& layer);
void CheckSequence(const proto::Layer& layer, ConfigErrors& errors);
std::vector<LayerBlock> ExpandSequence(const proto::Layer& layer);
void CheckResidual(const proto::Layer& layer, ConfigErrors& errors);
std::vector<LayerBlock> ExpandResidual(const proto::Layer& layer);
Value BuildResidual(LayerContext& layer);
// op.cc
void CheckOp(const proto::Layer& layer, ConfigErrors& errors);
Value BuildOp(LayerContext& layer);
// pooling.cc
Value BuildMaxPooling2d(LayerContext& layer);
void CanonicalizeMaxPooling2d(proto::Layer& layer);
Value BuildAveragePooling2d(LayerContext& layer);
void CanonicalizeAveragePooling2d(proto::Layer& layer);
Value BuildGlobalAveragePooling2d(LayerContext& layer);
Value BuildGlobalMaxPooling2d(LayerContext& layer);
Value BuildMaxPooling1d(LayerContext& layer);
void CanonicalizeMaxPooling1d(proto::Layer& layer);
Value BuildAveragePooling1d(LayerContext& layer);
void CanonicalizeAveragePooling1d(proto::Layer& layer);
Value BuildGlobalAveragePooling1d(LayerContext& layer);
Value BuildGlobalMaxPooling1d(LayerContext& layer);
// bidirectional.cc
void CheckBidirectional(const proto::Layer& layer, ConfigErrors& errors);
std::vector<LayerBlock> ExpandBidirectional(const proto::Layer& layer);
Value BuildBidirectional(LayerContext& layer);
// recurrent.cc
void CheckGru(const proto::Layer& layer, ConfigErrors& errors);
Value BuildGru(LayerContext& layer);
void CheckLstm(const proto::Layer& layer, ConfigErrors& errors);
Value BuildLstm(LayerContext& layer);
void CheckSimpleRnn(const proto::Layer& layer, ConfigErrors& errors);
Value BuildSimpleRnn(LayerContext& layer);
// reshape.cc
Value BuildFlatten(LayerContext& layer);
void CheckReshape(const proto::Layer& layer, ConfigErrors& errors);
Value BuildReshape(LayerContext& layer);
void CheckPermute(const proto::Layer& layer, ConfigErrors& errors);
Value BuildPermute(LayerContext& layer);
void CheckSlice(const proto::Layer& layer, ConfigErrors& errors);
Value BuildSlice(LayerContext& layer);
Value BuildZeroPadding1d(LayerContext& layer);
void CanonicalizeZeroPadding1d(proto::Layer& layer);
Value BuildCropping1d(LayerContext& layer);
void CanonicalizeCropping1d(proto::Layer& layer);
void CheckZeroPadding2d(const proto::Layer& layer, ConfigErrors& errors);
Value BuildZeroPadding2d(LayerContext& layer);
void CanonicalizeZeroPadding2d(proto::Layer& layer);
void CheckCropping2d(const proto::Layer& layer, ConfigErrors& errors);
Value BuildCropping2d(LayerContext& layer);
void CanonicalizeCropping2d(proto::Layer& layer);
// up_sampling.cc
Value BuildRepeatVector(LayerContext& layer);
Value BuildUpSampling1d(LayerContext& layer);
void CheckUpSampling2d(const proto::Layer& layer, ConfigErrors& errors);
Value BuildUpSampling2d(LayerContext& layer);
void CanonicalizeUpSampling2d(proto::Layer& layer);

}  // namespace tpurun

#endif  // TPURUN_MODELS_LAYERS_FAMILIES_H_
