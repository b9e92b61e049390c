#include "data/export_input.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/input_fn.h"
#include "data/open_input.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// The Estimator's name.
constexpr char kExamples[] = "input_example_tensor";

// A transform that something is made by.
struct ExportStep {
  const Step* step = nullptr;
  RowTransform row;
  std::set<std::string> made;  // columns of `row.makes` that are needed
  bool is_fed = false;         // who has the model feeds them: fields, or what has no op
};

const RowTransform::Export& RuleOf(const RowTransform& row, ExportFormat format) {
  return format == ExportFormat::kOnnx ? row.onnx : row.tensorflow;
}

// Of the columns that are `wanted` behind the transform those that it makes; `wanted` loses them.
std::set<std::string> TakeMade(const RowTransform& row, std::set<std::string>& wanted) {
  std::set<std::string> made;
  for (const std::string& name : row.makes) {
    if (wanted.erase(name) > 0) made.insert(name);
  }
  return made;
}

// What it makes these of.
void AddRead(const RowTransform& row, const std::set<std::string>& made,
             std::set<std::string>& wanted) {
  for (size_t i = 0; i < row.reads.size(); ++i) {
    if (!row.paired || made.count(row.makes[i]) > 0) wanted.insert(row.reads[i]);
  }
}

// The columns that an exported model is fed with ahead of all transforms that it does: those of the
// source, or of the last window, whose rows it does not join.
const Schema& FedSchema(const InputPlan& plan) {
  const auto window = std::find_if(plan.steps.rbegin(), plan.steps.rend(),
                                   [](const Step& step) { return step.transform.has_window(); });
  return window == plan.steps.rend() ? plan.input : window->windows;
}

// The transforms behind FedSchema, and which of them who has the model feeds the results of.
class ExportedSteps {
 public:
  ExportedSteps(const InputPlan& plan, ExportFormat format) : plan_(plan), format_(format) {}

  // Those that the `wanted` columns are made by, in order; `wanted` is then what FedSchema has of
  // them.
  absl::StatusOr<std::vector<ExportStep>> Find(std::set<std::string>& wanted) {
    std::vector<ExportStep> steps;
    for (size_t i = plan_.steps.size(); i-- > 0;) {
      const Step& step = plan_.steps[i];
      if (step.transform.has_window()) break;
      if (!step.row.has_value()) continue;
      ExportStep added{.step = &step, .made = TakeMade(*step.row, wanted)};
      if (added.made.empty()) continue;
      ASSIGN_OR_RETURN(added.is_fed, IsFed(i, added.made));
      added.row = opened_.at(i);
      if (!added.is_fed) AddRead(added.row, added.made, wanted);
      steps.push_back(std::move(added));
    }
    return std::vector<ExportStep>(std::make_move_iterator(steps.rbegin()),
                                   std::make_move_iterator(steps.rend()));
  }

 private:
  // So are fields, what the format has no op for, and what is made of rows of several sizes that
  // are fed: such rows are no tensor.
  absl::StatusOr<bool> IsFed(size_t step, const std::set<std::string>& made) {
    if (opened_.count(step) == 0) {
      ASSIGN_OR_RETURN(opened_[step],
                       OpenRow(plan_, plan_.steps[step], {.mode = ModeKey::kPredict}));
    }
    const RowTransform& row = opened_.at(step);
    if (row.fields.has_value() || RuleOf(row, format_) == nullptr) return true;
    std::set<std::string> read;
    AddRead(row, made, read);
    for (const std::string& name : read) {
      const int maker = MakerOf(name, step);
      const Schema& schema = maker < 0 ? FedSchema(plan_) : plan_.steps[maker].row->output;
      if (!schema[FindColumn(schema, name)].varies()) continue;
      if (maker < 0) return true;
      ASSIGN_OR_RETURN(const bool is_fed, IsFed(maker, {name}));
      if (is_fed) return true;
    }
    return false;
  }

  // The last step before `step` that makes the column; -1: FedSchema has it.
  int MakerOf(const std::string& column, size_t step) const {
    for (size_t i = step; i-- > 0 && !plan_.steps[i].transform.has_window();) {
      if (!plan_.steps[i].row.has_value()) continue;
      const std::vector<std::string>& makes = plan_.steps[i].row->makes;
      if (std::find(makes.begin(), makes.end(), column) != makes.end()) return static_cast<int>(i);
    }
    return -1;
  }

  const InputPlan& plan_;
  const ExportFormat format_;
  std::map<size_t, RowTransform> opened_;  // by step
};

class InputExporter {
 public:
  InputExporter(const InputPlan& plan, ExportFormat format, ExportGraph& graph)
      : plan_(plan), format_(format), graph_(graph) {}

  absl::StatusOr<ExportedInput> Export(const std::set<std::string>& features) {
    std::set<std::string> wanted = features;
    ASSIGN_OR_RETURN(const std::vector<ExportStep> steps,
                     ExportedSteps(plan_, format_).Find(wanted));
    RETURN_IF_ERROR(FeedColumns(FedSchema(plan_), wanted));
    for (const ExportStep& step : steps) {
      graph_.set_scope(step.step->def->name);
      if (step.is_fed) RETURN_IF_ERROR(Feed(step));
      const RowTransform::Export& rule = RuleOf(step.row, format_);
      if (rule == nullptr || (step.is_fed && !step.row.fields.has_value())) continue;
      if (step.row.paired) PassRowSplits(step.row);
      rule(graph_, step.made, columns_);
    }
    graph_.set_scope("");
    for (const ColumnType& type : plan_.output) {
      if (features.count(type.name) == 0) continue;
      input_.features[type.name] = {columns_.at(type.name), *ExportedType(type.dtype), type.dims};
    }
    if (parsed_ < input_.fields.size()) input_.serialized = {};
    return std::move(input_);
  }

 private:
  absl::Status Feed(const ExportStep& step) {
    std::set<std::string> fed = step.made;
    if (step.row.fields.has_value()) {
      for (const auto& [made, of] : step.row.fields->made_of) {
        if (fed.erase(made) > 0) fed.insert(of);
      }
    }
    RETURN_IF_ERROR(FeedColumns(step.row.output, fed));
    if (step.row.fields.has_value()) {
      ParseExamples(step);
      AddNotes(step, fed);
    } else if (!step.row.is_bitcast) {
      input_.unsaid.push_back(absl::StrCat("it has no op for the transform ", step.step->def->name,
                                           " (", step.step->where, ") as it is: feed ",
                                           absl::StrJoin(step.made, ", "), " behind it"));
    }
    return absl::OkStatus();
  }

  // A list that is made of another one has its rows, unless its rule says otherwise.
  void PassRowSplits(const RowTransform& row) {
    for (size_t i = 0; i < row.reads.size(); ++i) {
      const auto splits = columns_.find(RowSplitsKey(row.reads[i]));
      if (splits != columns_.end()) columns_[RowSplitsKey(row.makes[i])] = splits->second;
    }
  }

  absl::Status FeedColumns(const Schema& schema, std::set<std::string> names) {
    for (const ColumnType& type : schema) {
      if (names.erase(type.name) == 0) continue;
      const std::optional<ElementType> exported = ExportedType(type.dtype);
      if (!exported.has_value()) {
        return absl::UnimplementedError(
            absl::StrCat("the input's ", type.ToString(), " ", Quote(type.name), " has no type"));
      }
      ExportDims dims = type.dims;
      dims.insert(dims.begin(), -1);
      const Value value =
          graph_.NewInput(type.name, *exported, dims, absl::StrCat("input/", type.name));
      columns_[type.name] = value;
      input_.fields.push_back({FieldName(type.name), {value, *exported, type.dims}, ""});
    }
    if (names.empty()) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("the input does not make the feature ", Quote(*names.begin())));
  }

  // One that is fed ahead of a transform and behind another is two fields.
  std::string FieldName(const std::string& column) const {
    std::string name = column;
    const auto is_taken = [&](const ExportedInput::Field& field) { return field.name == name; };
    while (std::any_of(input_.fields.begin(), input_.fields.end(), is_taken)) name += "_behind";
    return name;
  }

  void ParseExamples(const ExportStep& step) {
    if (format_ != ExportFormat::kTensorFlow || step.row.fields->parse_examples == nullptr) return;
    input_.serialized = graph_.NewInput(kExamples, ElementType::kString, {-1}, kExamples);
    std::map<std::string, Value> parsed = {{kRecord, input_.serialized}};
    step.row.fields->parse_examples(graph_, step.made, parsed);
    for (const std::string& name : step.made) {
      graph_.SetDefault(columns_.at(name), parsed.at(name));
      ++parsed_;
    }
  }

  void AddNotes(const ExportStep& step, const std::set<std::string>& fed) {
    for (ExportedInput::Field& field : input_.fields) {
      if (fed.count(field.name) == 0) continue;
      const RowTransform::Fields::Notes notes = step.row.fields->notes(field.name, format_);
      field.note = notes.note;
      if (notes.unsaid.empty()) continue;
      input_.unsaid.push_back(absl::StrCat(Quote(field.name), ": ", notes.unsaid));
    }
  }

  const InputPlan& plan_;
  const ExportFormat format_;
  ExportGraph& graph_;
  std::map<std::string, Value> columns_;  // at this place, by name
  ExportedInput input_;
  size_t parsed_ = 0;  // of the fields
};

}  // namespace

absl::StatusOr<ExportedInput> ExportPlan(const InputPlan& plan, ExportFormat format,
                                         const std::set<std::string>& features,
                                         ExportGraph& graph) {
  return InputExporter(plan, format, graph).Export(features);
}

absl::StatusOr<Vocabularies> InputVocabularies(const InputPlan& plan) {
  Vocabularies vocabularies;
  for (const auto& input : plan.inputs) {
    ASSIGN_OR_RETURN(Vocabularies of_input, InputVocabularies(*input));
    vocabularies.merge(of_input);
  }
  for (const Step& step : plan.steps) {
    if (!step.row.has_value()) continue;
    for (const std::string& name : step.row->makes) vocabularies.erase(name);
    ASSIGN_OR_RETURN(RowTransform row, OpenRow(plan, step, {.mode = ModeKey::kPredict}));
    vocabularies.merge(row.vocabularies);
  }
  return vocabularies;
}

}  // namespace tpurun
