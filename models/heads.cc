#include "models/heads.h"

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {

const std::vector<HeadDef>& HeadList() {
  static const std::vector<HeadDef>& list = *new std::vector<HeadDef>{
      {.name = "classification", .build = BuildClassificationHead},
      {.name = "multi_label", .build = BuildMultiLabelHead},
      {.name = "regression", .build = BuildRegressionHead},
      {.name = "sequence", .build = BuildSequenceHead},
  };
  return list;
}

namespace {

// The first head of the same kind that has no name either; -1 if there is none before head `index`.
int EarlierWithoutName(const proto::ModelSpec& spec, int index) {
  if (!spec.head(index).name().empty()) return -1;
  for (int i = 0; i < index; ++i) {
    const proto::Head& other = spec.head(i);
    if (other.name().empty() && other.kind_case() == spec.head(index).kind_case()) return i;
  }
  return -1;
}

// Makes the predictions from number `first` on, those of this head, readable for metrics, with the
// mask of the logits.
void DeclarePredictions(ModelContext& m, const proto::Head& head, size_t first) {
  const auto* const kind = ChosenKind(head);
  if (first == m.predictions.size() || kind == nullptr) {
    m.heads_complete = false;
    return;
  }
  const google::protobuf::Message& args = head.GetReflection()->GetMessage(head, kind);
  const auto* const logits = args.GetDescriptor()->FindFieldByName("logits");
  const Tensor* const of = logits == nullptr
                               ? nullptr
                               : m.tensors.Find("", args.GetReflection()->GetString(args, logits));
  for (size_t i = first; i < m.predictions.size(); ++i) {
    const NamedValue& prediction = m.predictions[i];
    m.head_predictions[prediction.name] = {.state = Tensor::State::kKnown,
                                           .value = prediction.value,
                                           .mask = of == nullptr ? Value{} : of->mask};
  }
}

}  // namespace

void BuildHeads(ModelContext& m) {
  for (int i = 0; i < m.spec.head_size(); ++i) {
    const proto::Head& head = m.spec.head(i);
    const ConfigPlace place = {
        absl::StrCat("head ", i, head.has_name() ? absl::StrCat(" ", Quote(head.name())) : ""),
        absl::StrCat("model.head[", i, "]")};
    m.RequireName(place, NameKind::kKey, head.name());
    ConfigErrors errors;
    const HeadDef* def = ChooseRow(HeadList(), head, "head", "", errors);
    m.errors.Add(place, errors);
    const size_t first = m.predictions.size();
    if (const int other = EarlierWithoutName(m.spec, i); def != nullptr && other >= 0) {
      m.errors.Add(place, "name",
                   absl::StrCat("it has no name, and head ", other, " is a ", def->name,
                                " without a name too; give one of them a name"));
    } else if (def != nullptr) {
      def->build(m, head, place);
    }
    DeclarePredictions(m, head, first);
  }
}

std::vector<std::string> VocabularyOfLabel(const proto::ModelSpec& spec,
                                           const proto::Tensor& label) {
  if (label.dtype() != proto::STRING) return {};
  for (const proto::Head& head : spec.head()) {
    const auto of = [&](const auto& args) -> std::vector<std::string> {
      if (args.label() != label.name()) return {};
      return {args.label_vocabulary().begin(), args.label_vocabulary().end()};
    };
    std::vector<std::string> names =
        head.has_sequence() ? of(head.sequence()) : of(head.classification());
    if (!names.empty()) return names;
  }
  return {};
}

}  // namespace tpurun
