#include "models/summaries.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/layers/layer.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = TrainSummary::Kind;
using Source = TrainSummary::Source;

constexpr char kGradients[] = "gradients/";
constexpr char kGlobalNorm[] = "global_norm";
// Tags that training writes without a summary.
constexpr const char* kWritten[] = {"loss", "global_step/sec", "examples/sec", "run_config",
                                    "variables"};
constexpr char kHParams[] = "_hparams_/";

bool IsWrittenAnyway(const std::string& tag) {
  return absl::StartsWith(tag, kHParams) ||
         std::find(std::begin(kWritten), std::end(kWritten), tag) != std::end(kWritten);
}

const proto::Named& NamedOf(const proto::Summary& summary) {
  switch (summary.kind_case()) {
    case proto::Summary::kHistogram:
      return summary.histogram();
    case proto::Summary::kImage:
      return summary.image();
    default:
      return summary.scalar();
  }
}

Kind KindOf(const proto::Summary& summary) {
  switch (summary.kind_case()) {
    case proto::Summary::kHistogram:
      return Kind::kHistogram;
    case proto::Summary::kImage:
      return Kind::kImage;
    default:
      return Kind::kScalar;
  }
}

const std::string& TensorName(const proto::Named& named) {
  return named.has_tensor() ? named.tensor() : named.name();
}

// Returns the values that a summary can name besides the model's tensors, by name.
std::map<std::string, TrainSummary> OtherValues(const ModelContext& m,
                                                const std::vector<OptimizerSpec>& optimizers) {
  std::map<std::string, TrainSummary> values;
  const std::vector<Variable>& variables = m.b.graph().variables();
  for (const Variable& variable : variables) {
    values[variable.name] = {.source = Source::kVariable, .name = variable.name};
  }
  for (const OptimizerSpec& optimizer : optimizers) {
    for (const int variable : optimizer.variables) {
      const std::string& name = variables[variable].name;
      values[kGradients + name] = {.source = Source::kGradient, .name = name};
    }
    values[LearningRateTag(optimizer, optimizers.size())] = {.source = Source::kLearningRate,
                                                             .name = optimizer.name};
  }
  for (const auto& [name, value] : m.batch_metrics) values[name] = {.value = value};
  values[kGlobalNorm] = {.source = Source::kGlobalNorm};
  return values;
}

// Returns the shape of the summarized value on one replica.
Shape ShapeOf(const ModelContext& m, const TrainSummary& summary) {
  const Graph& graph = m.b.graph();
  switch (summary.source) {
    case Source::kValue:
      return graph.shape(summary.value);
    case Source::kVariable:
    case Source::kGradient:
      return graph.variables()[graph.FindVariable(summary.name)].shape;
    case Source::kLearningRate:
    case Source::kGlobalNorm:
      break;
  }
  return Shape{DType::kF32, {}};
}

// Returns the reason why a value of this shape cannot be shown as `kind`. Empty if it can.
std::string Misfit(Kind kind, const Shape& shape) {
  switch (kind) {
    case Kind::kScalar:
      return shape.num_elements() > 0 && shape.dtype != DType::kC64 ? ""
                                                                    : "a scalar must be of numbers";
    case Kind::kImage: {
      const bool values = shape.dtype == DType::kF32 || shape.dtype == DType::kU8;
      const bool channels =
          shape.rank() == 4 && (shape.dims[3] == 1 || shape.dims[3] == 3 || shape.dims[3] == 4);
      return values && channels ? ""
                                : "images must be f32 or u8 [N,HEIGHT,WIDTH,CHANNELS] of 1, 3 or "
                                  "4 channels";
    }
    case Kind::kHistogram:
      return shape.num_elements() > 0 && shape.dtype != DType::kC64
                 ? ""
                 : "a histogram must be of numbers";
  }
  return "";
}

ConfigPlace SummaryPlace(const std::string& name, int index) {
  return {absl::StrCat("summary ", index, name.empty() ? "" : absl::StrCat(" ", Quote(name))),
          absl::StrCat("model.summary[", index, "]")};
}

void CheckRulesOf(const proto::Summary& summary, const ConfigPlace& place, ConfigErrors& errors) {
  ConfigErrors of_summary;
  CheckRules(summary, "", of_summary);
  errors.Add(place, of_summary);
}

void BuildEmbedding(ModelContext& m, const proto::Summary& summary, const ConfigPlace& place,
                    EstimatorSpec& spec) {
  const proto::ProjectorEmbedding& embedding = summary.embedding();
  if (summary.has_every_n_steps()) {
    m.errors.Add(place, "every_n_steps", "every_n_steps: an embedding is in every checkpoint");
  }
  CheckRulesOf(summary, place, m.errors);
  if (!embedding.has_tensor()) return;
  const std::vector<Variable>& variables = m.b.graph().variables();
  const int index = m.b.graph().FindVariable(embedding.tensor());
  if (index < 0) {
    std::vector<std::string> names;
    for (const Variable& variable : variables) names.push_back(variable.name);
    return m.errors.Add(place, "embedding.tensor",
                        absl::StrCat("there is no variable ", Quote(embedding.tensor()),
                                     DidYouMean(embedding.tensor(), names)));
  }
  const Shape& shape = variables[index].shape;
  if (shape.rank() != 2 || shape.dtype != DType::kF32) {
    return m.errors.Add(place, "embedding.tensor",
                        absl::StrCat("an embedding must be f32 [ROWS,FEATURES], got ",
                                     Quote(embedding.tensor()), " of ", shape.ToString()));
  }
  for (const Embedding& other : spec.embeddings) {
    if (other.variable != embedding.tensor()) continue;
    return m.errors.Add(place, "embedding.tensor",
                        absl::StrCat(Quote(embedding.tensor()), " has an embedding already"));
  }
  spec.embeddings.push_back({embedding.tensor(), embedding.vocabulary_file()});
}

class SummaryBuilder {
 public:
  SummaryBuilder(ModelContext& m, const std::vector<OptimizerSpec>& optimizers)
      : m_(m), others_(OtherValues(m, optimizers)) {}

  std::optional<TrainSummary> Build(const proto::Summary& spec, int index) {
    const proto::Named& named = NamedOf(spec);
    const ConfigPlace place = SummaryPlace(named.name(), index);
    if (ChosenKind(spec) == nullptr) {
      m_.errors.Add(place, "",
                    "no kind of summary is given, want scalar, histogram, image or embedding");
      return std::nullopt;
    }
    CheckRulesOf(spec, place, m_.errors);
    const std::string kind = ChosenKind(spec)->name();
    if (!CheckTag(place, kind, named)) return std::nullopt;
    std::optional<TrainSummary> summary = Find(place, kind, named);
    if (!summary.has_value()) return summary;
    summary->kind = KindOf(spec);
    summary->tag = named.name();
    summary->every_n_steps = spec.every_n_steps();
    const Shape shape = ShapeOf(m_, *summary);
    const std::string misfit = Misfit(summary->kind, shape);
    if (misfit.empty()) return summary;
    m_.errors.Add(
        place, kind,
        absl::StrCat(misfit, ", got ", Quote(TensorName(named)), " of ",
                     summary->source == Source::kValue ? BatchShapeText(shape) : shape.ToString()));
    return std::nullopt;
  }

  bool HasTag(const std::string& tag) const { return tags_.count(tag) > 0; }

 private:
  bool CheckTag(const ConfigPlace& place, const std::string& kind, const proto::Named& named) {
    if (!named.has_name()) return false;
    m_.RequireName(place, NameKind::kKey, named.name());
    if (IsWrittenAnyway(named.name())) {
      m_.errors.Add(place, absl::StrCat(kind, ".name"),
                    absl::StrCat(Quote(named.name()), " is written anyway; use another name"));
      return false;
    }
    std::vector<std::string> tags = {named.name()};
    if (kind == "image") {
      for (const char* const image : {"/image", "/image/0", "/image/1", "/image/2"}) {
        tags.push_back(named.name() + image);
      }
    }
    for (const std::string& tag : tags) {
      const auto [there, added] = tags_.emplace(tag, place);
      if (added) continue;
      m_.errors.Add(place, absl::StrCat(kind, ".name"),
                    absl::StrCat("the name ", Quote(tag), " is taken by ", there->second.subject));
      return false;
    }
    return true;
  }

  std::optional<TrainSummary> Find(const ConfigPlace& place, const std::string& kind,
                                   const proto::Named& named) {
    const std::string& name = TensorName(named);
    if (m_.tensors.Has(name)) {
      const Tensor* const tensor = m_.tensors.Find("", name);
      if (!tensor->known()) return std::nullopt;  // reported, or it depends on a reported mistake
      return TrainSummary{.value = tensor->value};
    }
    if (const auto found = others_.find(name); found != others_.end()) {
      const bool known = found->second.source != Source::kValue || found->second.value.valid();
      return known ? std::optional(found->second) : std::nullopt;
    }
    std::vector<std::string> names = m_.tensors.Names();
    for (const auto& [other, value] : others_) names.push_back(other);
    m_.errors.Add(place, absl::StrCat(kind, named.has_tensor() ? ".tensor" : ".name"),
                  absl::StrCat("there is no tensor, variable, gradient or metric ", Quote(name),
                               DidYouMean(name, names)));
    return std::nullopt;
  }

  ModelContext& m_;
  const std::map<std::string, TrainSummary> others_;
  std::map<std::string, ConfigPlace> tags_;
};

}  // namespace

bool IsSummarized(const proto::ModelSpec& spec, const std::string& name) {
  return std::any_of(spec.summary().begin(), spec.summary().end(),
                     [&](const auto& summary) { return TensorName(NamedOf(summary)) == name; });
}

void BuildSummaries(ModelContext& m, const std::vector<NamedValue>& losses, EstimatorSpec& spec) {
  SummaryBuilder builder(m, spec.optimizers);
  for (int i = 0; i < m.spec.summary_size(); ++i) {
    const proto::Summary& summary = m.spec.summary(i);
    if (summary.has_embedding()) {
      BuildEmbedding(m, summary, SummaryPlace(summary.embedding().tensor(), i), spec);
      continue;
    }
    const std::optional<TrainSummary> built = builder.Build(summary, i);
    if (built.has_value()) spec.summaries.push_back(*built);
  }
  for (const NamedValue& loss : losses) {
    if (builder.HasTag(loss.name)) continue;  // a summary of the model's own
    spec.summaries.push_back({.tag = loss.name, .value = loss.value});
  }
}

}  // namespace tpurun
