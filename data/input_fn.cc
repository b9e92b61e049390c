#include "data/input_fn.h"

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/input_checks.h"
#include "data/input_plan.h"
#include "data/open_input.h"
#include "data/sources/source_list.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/descriptor.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// ------------------------------------------------------------------------------------ export

// Of the columns that each step makes those that the features are made of. `wanted` are the
// features, afterwards what they are made of before the first step.
std::vector<std::set<std::string>> ColumnsOfSteps(const Plan& plan, std::set<std::string>& wanted) {
  std::vector<std::set<std::string>> columns(plan.steps.size());
  for (size_t i = plan.steps.size(); i-- > 0;) {
    if (!plan.steps[i].row.has_value()) continue;
    const RowTransform& row = *plan.steps[i].row;
    std::set<std::string> read;
    for (size_t made = 0; made < row.makes.size(); ++made) {
      if (wanted.erase(row.makes[made]) == 0) continue;
      columns[i].insert(row.makes[made]);
      if (row.paired) read.insert(row.reads[made]);
    }
    if (!row.paired && !columns[i].empty()) read.insert(row.reads.begin(), row.reads.end());
    wanted.merge(read);
  }
  return columns;
}

absl::StatusOr<std::map<std::string, ExportedColumn>> ExportPlan(
    const Plan& plan, Value serialized, const std::set<std::string>& features, ExportGraph& graph) {
  std::set<std::string> begin = features;
  const std::vector<std::set<std::string>> of_steps = ColumnsOfSteps(plan, begin);
  if (begin != std::set<std::string>{kRecord}) {
    return absl::FailedPreconditionError("the input does not parse tf.Examples");
  }
  std::map<std::string, Value> columns = {{kRecord, serialized}};
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (of_steps[i].empty()) continue;
    ASSIGN_OR_RETURN(const RowTransform row, OpenRow(plan, step, ModeKey::kPredict));
    if (row.tensorflow == nullptr) {
      return absl::UnimplementedError(absl::StrCat("TensorFlow has no op for the transform ",
                                                   step.def->name, " (", step.where, ")"));
    }
    graph.set_scope(step.def->name);
    row.tensorflow(graph, of_steps[i], columns);
  }
  std::map<std::string, ExportedColumn> made;
  for (const ColumnType& type : plan.output) {
    const std::optional<ElementType> exported = ExportedType(type.dtype);
    if (exported.has_value() && features.count(type.name) > 0) {
      made[type.name] = {columns.at(type.name), *exported, type.dims};
    }
  }
  return made;
}

template <typename Def>
ReadFields KindsOf(const google::protobuf::Descriptor& message, std::span<const Def> defs) {
  ReadFields row = {message.full_name(), {}};
  for (const Def& def : defs) row.fields.push_back(def.name);
  return row;
}

// ------------------------------------------------------------------------------------ values

// Sets it to an empty message of that kind.
void SetKind(proto::Source::KindCase kind, proto::Source* source) {
  const auto* const field = proto::Source::descriptor()->FindFieldByNumber(kind);
  if (field != nullptr) source->GetReflection()->MutableMessage(source, field);
}

void ClearFileNames(proto::Transform* transform) {
  const auto* const kind =
      proto::Transform::descriptor()->FindFieldByNumber(transform->kind_case());
  auto* const arguments = transform->GetReflection()->MutableMessage(transform, kind);
  const auto* const file = arguments->GetDescriptor()->FindFieldByName("vocabulary_file");
  if (file != nullptr) arguments->GetReflection()->ClearField(arguments, file);
}

}  // namespace

std::vector<ReadFields> ReadInputFields() {
  return {KindsOf(*proto::Source::descriptor(), SourceList()),
          KindsOf(*proto::Transform::descriptor(), TransformList())};
}

InputFn MakeInputFn(const proto::Input& input, const NamedTransformsField& functions,
                    const SourceLocations& locations, const std::string& path,
                    const std::string& directory, ConfigErrors& errors) {
  std::optional<Plan> made = MakePlan(input, functions, locations, path, directory, errors);
  if (!made.has_value()) return nullptr;
  return [plan = std::make_shared<const Plan>(*std::move(made))](const InputFnArgs& args) {
    return OpenPlan(*plan, args);
  };
}

bool CheckInput(const proto::Input& input, const NamedTransformsField& functions,
                const SourceLocations& locations, const std::string& path, const InputFnArgs& args,
                ConfigErrors& errors) {
  const std::optional<Plan> made = MakePlan(input, functions, locations, path, "", errors);
  if (!made.has_value()) return false;
  CheckArguments(*made, args, errors);
  return IsEndless(*made);
}

bool SelectsRows(const proto::Transform& transform) {
  const TransformDef* const def = FindTransform(transform.kind_case());
  return def != nullptr && def->make_items != nullptr;
}

std::string SetFiles(const std::vector<std::string>& files, proto::Source* source) {
  const SourceDef* const def = FindSource(source->kind_case());
  if (def == nullptr || def->file_names == nullptr) return "";
  if (def->read_all != nullptr) def->read_all(source);
  const auto* const kind = proto::Source::descriptor()->FindFieldByNumber(source->kind_case());
  google::protobuf::Message* const arguments =
      source->GetReflection()->MutableMessage(source, kind);
  const auto* const names = arguments->GetDescriptor()->FindFieldByName("file");
  arguments->GetReflection()->ClearField(arguments, names);
  for (const std::string& file : files) {
    arguments->GetReflection()->AddString(arguments, names, file);
  }
  return FieldPath(kind->name(), names->name());
}

proto::Input InputValues(const proto::Input& input, const NamedTransformsField& functions) {
  ConfigErrors errors;
  proto::Input values;
  SetKind(input.source().kind_case(), values.mutable_source());
  for (const Step& step : ExpandTransforms(input.transform(), functions, {}, "", errors)) {
    if (step.def->bind == nullptr || step.def->random) continue;
    *values.add_transform() = step.transform;
    ClearFileNames(values.mutable_transform(values.transform_size() - 1));
  }
  return values;
}

absl::StatusOr<ExportInputFn> MakeExportInputFn(const proto::Input& input,
                                                const NamedTransformsField& transformation_funcs,
                                                const SourceLocations& locations,
                                                const std::string& path) {
  ConfigErrors errors;
  std::optional<Plan> made = MakePlan(input, transformation_funcs, locations, path, "", errors);
  if (!made.has_value()) return ErrorList(errors.Lines(locations), errors.code());
  return ExportInputFn(
      [plan = std::make_shared<const Plan>(*std::move(made))](
          ExportGraph& graph, Value serialized, const std::set<std::string>& features) {
        return ExportPlan(*plan, serialized, features, graph);
      });
}

}  // namespace tpurun
