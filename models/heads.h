// Heads: one entry of the model that defines a loss, predictions and metrics at once.
#ifndef TPURUN_MODELS_HEADS_H_
#define TPURUN_MODELS_HEADS_H_

#include <string>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "models/model_context.h"

namespace tpurun {

// One row of the table in heads.cc.
struct HeadDef {
  std::string name;  // the head's field in proto Head's oneof
  void (*build)(ModelContext& m, const proto::Head& head, const ConfigPlace& place);
};

const std::vector<HeadDef>& HeadList();

// The rows' functions, in NAME_head.cc.
void BuildClassificationHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place);
void BuildMultiLabelHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place);
void BuildRegressionHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place);
void BuildSequenceHead(ModelContext& m, const proto::Head& head, const ConfigPlace& place);

// Builds the model's `head` entries: adds their losses, predictions, metrics and export outputs to
// `m`. Losses, metrics and predictions that depend on an absent label are left out. Mistakes go to
// m.errors.
void BuildHeads(ModelContext& m);

// The names of classes that the input gives for a label with dtype STRING: the label_vocabulary of
// the first classification or sequence head that reads it. Empty if there is none.
std::vector<std::string> VocabularyOfLabel(const proto::ModelSpec& spec,
                                           const proto::Tensor& label);

}  // namespace tpurun

#endif  // TPURUN_MODELS_HEADS_H_
