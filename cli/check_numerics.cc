#include "cli/check_numerics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/check_input.h"
#include "cli/compose.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "cli/logging.h"
#include "glog/logging.h"
#include "models/model_builder.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/numerics.h"

namespace tpurun {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using MatmulPrecision = proto::ModelSpec::MatmulPrecision;

constexpr int64_t kDefaultSteps = 100, kMostSteps = 1000000;
// DEFAULT follows the reference if the means of the last tenth of the losses are at most so far
// apart, or as far as another seed makes them: below a hundredth nobody sees a difference between
// curves.
constexpr double kFollows = 0.01;
// A variable's gradient differs above a tenth of its norm: it then has a cosine of 0.995 with the
// reference. The rounding of bf16 alone makes some hundredths in deep models.
constexpr double kGradientDiffers = 0.1;
// A gradient underflows if more than a hundredth of its elements are flushed to zero.
constexpr double kUnderflows = 0.01;
// Tables of text show so many variables, the worst; JSON has all.
constexpr size_t kMostRows = 12;

constexpr char kDefault[] = "DEFAULT", kHigh[] = "HIGH", kHighest[] = "HIGHEST", kF32[] = "F32",
               kAllF32[] = "ALL_F32";

// A training of the comparison, for the tables.
struct Column {
  std::string name;
  int passes = 0;  // of the matrix unit for each product; 0: a TPU has no such precision
};

// ---------------------------------------------------------------------------- the models

// Calls `visit` with the message and all messages in it.
void ForEachMessage(Message& message, const std::function<void(Message&)>& visit) {
  visit(message);
  std::vector<const FieldDescriptor*> fields;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      ForEachMessage(*reflection.MutableMessage(&message, field), visit);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      ForEachMessage(*reflection.MutableRepeatedMessage(&message, field, i), visit);
  }
}

// An op layer's own precision gives way to the model's. `attrs` is as in proto::Op: "precision=1,
// axis=0".
std::string WithoutPrecision(const std::string& attrs) {
  std::vector<std::string> kept;
  // A part without "=" goes on with the list that the part before it begins.
  bool dropped = false;
  for (const absl::string_view part : absl::StrSplit(attrs, ',')) {
    if (absl::StrContains(part, '='))
      dropped = absl::StartsWith(absl::StripAsciiWhitespace(part), "precision=");
    if (!dropped) kept.emplace_back(part);
  }
  return absl::StrJoin(kept, ",");
}

// The model with this precision of all products.
proto::ModelSpec WithPrecision(proto::ModelSpec spec, MatmulPrecision precision) {
  spec.set_matmul_precision(precision);
  ForEachMessage(spec, [](Message& message) {
    auto* const op = google::protobuf::DynamicCastToGenerated<proto::Op>(&message);
    if (op != nullptr && op->has_attrs()) op->set_attrs(WithoutPrecision(op->attrs()));
  });
  return spec;
}

// The model with all results stored in f32.
proto::ModelSpec StoredInF32(proto::ModelSpec spec) {
  spec.clear_compute_dtype();
  ForEachMessage(spec, [](Message& message) {
    auto* const layer = google::protobuf::DynamicCastToGenerated<proto::Layer>(&message);
    if (layer != nullptr) layer->clear_dtype();
  });
  return spec;
}

bool StoresBFloat16(proto::ModelSpec spec) {
  bool stores = spec.compute_dtype() == proto::BFLOAT16;
  ForEachMessage(spec, [&](Message& message) {
    auto* const layer = google::protobuf::DynamicCastToGenerated<proto::Layer>(&message);
    stores = stores || (layer != nullptr && layer->dtype() == proto::BFLOAT16);
  });
  return stores;
}

absl::StatusOr<ModelFn> ModelFnOf(const proto::ModelSpec& spec, const proto::RunConfig& run) {
  ConfigErrors errors;
  const SourceLocations nowhere;
  ParsedModel parsed = ParseModel(spec, nowhere, errors, TargetOf(run));
  RETURN_IF_ERROR(ErrorList(errors.Lines(nowhere), errors.code()));
  return std::move(parsed.model_fn);
}

struct Plan {
  NumericsArgs args;
  std::vector<Column> columns;  // in the order of the tables, without the other seed
  std::string reference;
  std::string other_seed;
};

absl::StatusOr<Plan> PlanTrainings(const proto::RunConfig& run) {
  Plan plan{.columns = {{kDefault, 1}, {kHigh, 3}, {kHighest, 6}, {kF32}}, .reference = kF32};
  const proto::ModelSpec& model = run.model();
  std::vector<std::pair<std::string, proto::ModelSpec>> models = {
      {kF32, WithPrecision(model, proto::ModelSpec::F32)},
      {kHighest, WithPrecision(model, proto::ModelSpec::HIGHEST)},
      {kHigh, WithPrecision(model, proto::ModelSpec::HIGH)},
      {kDefault, WithPrecision(model, proto::ModelSpec::DEFAULT)}};
  if (StoresBFloat16(model)) {
    models.insert(models.begin(), {kAllF32, StoredInF32(models[0].second)});
    plan.columns.push_back({kAllF32});
    plan.reference = kAllF32;
  }
  for (const auto& [name, spec] : models) {
    ASSIGN_OR_RETURN(ModelFn model_fn, ModelFnOf(spec, run));
    plan.args.trainings.push_back({.name = name, .model_fn = std::move(model_fn)});
  }
  plan.other_seed = absl::StrCat("seed_", run.tf_random_seed() + 1);
  plan.args.trainings.push_back(
      {.name = plan.other_seed, .model_fn = plan.args.trainings[0].model_fn, .seed_offset = 1});
  return plan;
}

// ---------------------------------------------------------------------------- the findings

struct Finding {
  std::string variable, layer;
  std::string reason;  // "products", "storage" or "underflow"
  double value = 0;    // the share of the gradient
  std::string line;    // to write into the model; empty: none helps
};

class Findings {
 public:
  Findings(const Plan& plan, const Numerics& numerics) : plan_(plan), numerics_(numerics) {
    for (const TrainingLosses& training : numerics.trainings) losses_[training.name] = &training;
    FindVariables();
  }

  const TrainingLosses& losses(const std::string& name) const { return *losses_.at(name); }
  const TrainingLosses& reference() const { return losses(plan_.reference); }

  // How far the mean of the last tenth is from the reference's. NaN if one of them is.
  double FromReference(const std::string& name) const {
    return RelativeDifference(MeanOfLastTenth(losses(name).losses),
                              MeanOfLastTenth(reference().losses));
  }

  // The greatest difference of the losses of one step, over the steps that both have.
  double Greatest(const std::string& name) const {
    double greatest = 0;
    for (int64_t step = 0; step < numerics_.steps; ++step) {
      const double of_step =
          RelativeDifference(losses(name).losses[step], reference().losses[step]);
      if (of_step > greatest) greatest = of_step;
    }
    return greatest;
  }

  // What the means may be apart.
  double allowed() const {
    const double spread = FromReference(plan_.other_seed);
    return std::isfinite(spread) ? std::max(kFollows, spread) : kFollows;
  }

  // NaN in the reference: there is nothing to follow.
  bool reference_finite() const { return reference().not_finite.empty(); }
  bool follows() const { return FromReference(kDefault) <= allowed(); }

  std::string Verdict() const {
    const std::string& of = plan_.reference;
    if (!reference_finite()) {
      return absl::StrCat(
          of, " has a NaN or an infinity itself (", reference().not_finite,
          "): no precision is the cause; lower the learning rate or mend the model");
    }
    if (!losses(kDefault).not_finite.empty()) {
      return absl::StrCat("DEFAULT differs from ", of, ": it has a NaN or an infinity (",
                          losses(kDefault).not_finite, "), and ", of, " has none");
    }
    const double spread = FromReference(plan_.other_seed);
    return absl::StrFormat(
        "DEFAULT %s %s: the mean loss of the last %d steps is %.2g %% apart, another seed makes %s",
        follows() ? "follows" : "differs from", of, LastTenth(numerics_.steps),
        100 * FromReference(kDefault),
        std::isfinite(spread) ? absl::StrFormat("%.2g %%", 100 * spread) : "NaN");
  }

  // The difference of the variable's gradient in step 1, as a share of its norm. nullopt: not
  // measured.
  static std::optional<double> Difference(const VariableNumerics& variable,
                                          const std::string& training) {
    const auto found = variable.differences.find(training);
    if (found == variable.differences.end()) return std::nullopt;
    return found->second == 0 ? 0 : found->second / variable.norm;
  }

  // The largest share of flushed elements in a step.
  static double Flushed(const VariableNumerics& variable) {
    double flushed = 0;
    for (const GradientNumbers& step : variable.steps) {
      if (step.elements > 0) flushed = std::max(flushed, Share(step.flushed, step.elements));
    }
    return flushed;
  }

  static double Share(int64_t part, int64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  }

  // The worst first.
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  void FindVariables() {
    for (const VariableNumerics& variable : numerics_.variables) {
      const double by_default = Difference(variable, kDefault).value_or(0);
      // Without storage in bf16 the reference is F32 itself.
      const double by_storage = Difference(variable, kF32).value_or(0);
      const double flushed = Flushed(variable);
      if (by_storage > kGradientDiffers) {
        findings_.push_back({variable.name, variable.layer, "storage", by_storage,
                             absl::StrCat("layer ", Quote(variable.layer), ": dtype: FLOAT32")});
      }
      if (by_default > kGradientDiffers && by_default > 2 * by_storage) {
        findings_.push_back({variable.name, variable.layer, "products", by_default,
                             LineOfProducts(variable, by_storage)});
      }
      if (flushed > kUnderflows) {
        findings_.push_back({variable.name, variable.layer, "underflow", flushed,
                             "a larger weight in the loss or head"});
      }
    }
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& x, const Finding& y) { return x.value > y.value; });
  }

  // The cheapest precision that helps.
  static std::string LineOfProducts(const VariableNumerics& variable, double by_storage) {
    for (const char* const precision : {kHigh, kHighest}) {
      const std::optional<double> rest = Difference(variable, precision);
      if (rest.has_value() && *rest <= std::max(kGradientDiffers, 2 * by_storage))
        return absl::StrCat("model: matmul_precision: ", precision);
    }
    return "";
  }

  const Plan& plan_;
  const Numerics& numerics_;
  std::map<std::string, const TrainingLosses*> losses_;
  std::vector<Finding> findings_;
};

// The steps whose losses are shown: 1, 2, 5, 10 ... and the last.
std::vector<int64_t> ShownSteps(int64_t steps) {
  std::vector<int64_t> shown;
  for (int64_t decade = 1; decade < steps; decade *= 10) {
    for (const int64_t step : {decade, 2 * decade, 5 * decade})
      if (step < steps) shown.push_back(step);
  }
  shown.push_back(steps);
  return shown;
}

// The variables whose gradients DEFAULT changes most come first.
std::vector<const VariableNumerics*> WorstFirst(const Numerics& numerics) {
  std::vector<const VariableNumerics*> sorted;
  for (const VariableNumerics& variable : numerics.variables) sorted.push_back(&variable);
  const auto key = [](const VariableNumerics* variable) {
    const double difference = Findings::Difference(*variable, kDefault).value_or(0);
    return std::pair(Findings::Flushed(*variable), std::isnan(difference) ? 0 : difference);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* x, const auto* y) { return key(x) > key(y); });
  return sorted;
}

// ---------------------------------------------------------------------------- JSON

Json NumberOrNull(std::optional<double> number) {
  return number.has_value() ? JsonNumber(*number) : Json();
}

Json TrainingJson(const Column& column, const Findings& findings) {
  const TrainingLosses& losses = findings.losses(column.name);
  return {{"kind", "training"},
          {"precision", column.name},
          {"passes", column.passes > 0 ? Json(column.passes) : Json()},
          {"mean_of_last_tenth", JsonNumber(MeanOfLastTenth(losses.losses))},
          {"from_reference", JsonNumber(findings.FromReference(column.name))},
          {"greatest_difference", JsonNumber(findings.Greatest(column.name))},
          {"not_finite", losses.not_finite.empty() ? Json() : Json(losses.not_finite)}};
}

Json ExponentJson(std::optional<int> exponent) {
  return exponent.has_value() ? Json(*exponent) : Json();
}

Json GradientJson(const VariableNumerics& variable, const GradientNumbers& step) {
  return {{"kind", "gradient"},
          {"variable", variable.name},
          {"step", step.step},
          {"elements", step.elements},
          {"zeros", step.zeros},
          {"flushed", step.flushed},
          {"smallest_exponent", ExponentJson(step.smallest)},
          {"largest_exponent", ExponentJson(step.largest)},
          {"updated", step.updated},
          {"update_lost", step.update_lost}};
}

void WriteJsonLines(const Plan& plan, const Numerics& numerics, const Findings& findings,
                    RowWriter& rows) {
  for (const Column& column : plan.columns) rows.Object(TrainingJson(column, findings));
  for (int64_t step = 1; step <= numerics.steps; ++step) {
    Json row = {{"kind", "loss"}, {"step", step}};
    for (const Column& column : plan.columns)
      row[column.name] = JsonNumber(findings.losses(column.name).losses[step - 1]);
    row[plan.other_seed] = JsonNumber(findings.losses(plan.other_seed).losses[step - 1]);
    rows.Object(row);
  }
  for (const VariableNumerics* variable : WorstFirst(numerics)) {
    Json row = {{"kind", "variable"},
                {"name", variable->name},
                {"layer", variable->layer},
                {"gradient_norm", JsonNumber(variable->norm)}};
    for (const Column& column : plan.columns) {
      if (column.name == plan.reference) continue;
      row[column.name] = NumberOrNull(Findings::Difference(*variable, column.name));
    }
    rows.Object(row);
    for (const GradientNumbers& step : variable->steps) rows.Object(GradientJson(*variable, step));
  }
  for (const Finding& finding : findings.findings()) {
    rows.Object({{"kind", "keep_in_f32"},
                 {"variable", finding.variable},
                 {"layer", finding.layer},
                 {"reason", finding.reason},
                 {"share", JsonNumber(finding.value)},
                 {"write", finding.line.empty() ? Json() : Json(finding.line)}});
  }
  rows.Object({{"kind", "verdict"},
               {"reference", plan.reference},
               {"steps", numerics.steps},
               {"follows", findings.reference_finite() ? Json(findings.follows()) : Json()},
               {"from_reference", JsonNumber(findings.FromReference(kDefault))},
               {"another_seed", JsonNumber(findings.FromReference(plan.other_seed))},
               {"message", findings.Verdict()}});
}

// ---------------------------------------------------------------------------- text

std::string LossText(double loss) {
  return std::isnan(loss) ? "NaN" : absl::StrFormat("%.6g", loss);
}

std::string PercentText(double share) {
  if (std::isnan(share)) return "NaN";
  return share == 0 ? "0 %" : absl::StrFormat("%.2g %%", 100 * share);
}

std::string PercentText(std::optional<double> share) {
  return share.has_value() ? PercentText(*share) : "-";
}

std::string PowerText(std::optional<int> exponent) {
  return exponent.has_value() ? absl::StrCat("2^", *exponent) : "-";
}

void WriteLosses(const Plan& plan, const Numerics& numerics, const Findings& findings,
                 RowWriter& rows) {
  const std::string mean = absl::StrCat("mean_of_last_", LastTenth(numerics.steps));
  std::vector<Json> texts;
  const auto add = [&](const std::string& name, const std::string& passes) {
    texts.push_back({{"precision", name},
                     {"passes", passes},
                     {mean, LossText(MeanOfLastTenth(findings.losses(name).losses))},
                     {"apart", PercentText(findings.FromReference(name))},
                     {"greatest_of_a_step", PercentText(findings.Greatest(name))}});
  };
  for (const Column& column : plan.columns)
    add(column.name, column.passes > 0 ? absl::StrCat(column.passes) : "-");
  add(plan.other_seed, "-");
  rows.Table({{"precision"},
              {"passes", true},
              {mean, true},
              {"apart", true},
              {"greatest_of_a_step", true}},
             texts);
  rows.Title("");
  std::vector<RowColumn> columns = {{"step", true}};
  std::vector<std::string> names;
  for (const Column& column : plan.columns) names.push_back(column.name);
  names.push_back(plan.other_seed);
  for (const std::string& name : names) columns.push_back({name, true});
  texts.clear();
  for (const int64_t step : ShownSteps(numerics.steps)) {
    Json row = {{"step", step}};
    for (const std::string& name : names)
      row[name] = LossText(findings.losses(name).losses[step - 1]);
    texts.push_back(std::move(row));
  }
  rows.Table(columns, texts);
}

void WriteGradients(const Plan& plan, const Numerics& numerics, RowWriter& rows) {
  std::vector<const VariableNumerics*> variables = WorstFirst(numerics);
  const size_t left_out = variables.size() - std::min(variables.size(), kMostRows);
  variables.resize(variables.size() - left_out);
  if (variables.empty()) return;
  rows.Title("");
  rows.Title(absl::StrCat("Gradients of step 1: |g - g of ", plan.reference, "| / |g of ",
                          plan.reference, "|, the worst first"));
  std::vector<RowColumn> columns = {{"variable"}, {"|g|", true}};
  for (const Column& column : plan.columns) {
    if (column.name != plan.reference) columns.push_back({column.name, true});
  }
  std::vector<Json> texts;
  for (const VariableNumerics* variable : variables) {
    Json row = {{"variable", variable->name}, {"|g|", absl::StrFormat("%.2g", variable->norm)}};
    for (size_t i = 2; i < columns.size(); ++i)
      row[columns[i].key] = PercentText(Findings::Difference(*variable, columns[i].key));
    texts.push_back(std::move(row));
  }
  rows.Table(columns, texts);
  rows.Title("");
  rows.Title(
      absl::StrCat("Gradients of ", plan.reference,
                   ": elements that are 0, that are flushed to 0, the magnitude of the others; "
                   "updates that a"));
  rows.Title("variable in bf16 would lose");
  texts.clear();
  for (const VariableNumerics* variable : variables) {
    for (const GradientNumbers& step : variable->steps) {
      texts.push_back({{"variable", variable->name},
                       {"step", step.step},
                       {"zero", PercentText(Findings::Share(step.zeros, step.elements))},
                       {"flushed", PercentText(Findings::Share(step.flushed, step.elements))},
                       {"smallest", PowerText(step.smallest)},
                       {"largest", PowerText(step.largest)},
                       {"lost", PercentText(Findings::Share(step.update_lost, step.updated))}});
    }
  }
  rows.Table({{"variable"},
              {"step", true},
              {"zero", true},
              {"flushed", true},
              {"smallest", true},
              {"largest", true},
              {"lost", true}},
             texts);
  if (left_out > 0) rows.Title(absl::StrCat(left_out, " more variables: --format=json shows all"));
}

void WriteFindings(const Findings& findings, RowWriter& rows) {
  rows.Title("");
  if (findings.findings().empty()) {
    rows.Title("No layer needs f32: no gradient differs or underflows.");
    return;
  }
  static const std::map<std::string, std::string> kReasons = {{"products", "products differ by"},
                                                              {"storage", "storage differs by"},
                                                              {"underflow", "flushed to zero"}};
  std::vector<Json> texts;
  for (const Finding& finding : findings.findings()) {
    if (texts.size() == kMostRows) break;
    texts.push_back(
        {{"variable", finding.variable},
         {"why", absl::StrCat(kReasons.at(finding.reason), " ", PercentText(finding.value))},
         {"write", finding.line.empty() ? "-" : finding.line}});
  }
  rows.Table({{"variable"}, {"why"}, {"write"}}, texts);
  if (findings.findings().size() > texts.size()) {
    rows.Title(
        absl::StrCat(findings.findings().size() - texts.size(), " more: --format=json shows all"));
  }
}

void WriteTables(const proto::RunConfig& run, const Plan& plan, const Numerics& numerics,
                 const Findings& findings, RowWriter& rows) {
  rows.Title(absl::StrCat("Model ", Quote(run.model().name()), ": ", numerics.steps, " steps of ",
                          run.train_batch_size(), " examples, compared with ", plan.reference));
  rows.Title("");
  WriteLosses(plan, numerics, findings, rows);
  WriteGradients(plan, numerics, rows);
  WriteFindings(findings, rows);
  rows.Title("");
  rows.Title(findings.Verdict() + ".");
}

absl::Status CheckFlagsOfNumerics(const CommandLine& command) {
  const std::string format = command.GetString("format", "text");
  if (format != "text" && format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format: got ", Quote(format), ", want text or json"));
  }
  if (command.Has("accelerator_type")) {
    return absl::InvalidArgumentError(
        "--accelerator_type is not for --numerics, which trains on the cores of the configuration");
  }
  if (!command.Has("steps")) return absl::OkStatus();
  const int64_t steps = command.GetInt("steps");
  if (steps >= 1 && steps <= kMostSteps) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--steps: got ", steps, ", want 1 to ", kMostSteps));
}

}  // namespace

absl::Status CheckNumerics(const CommandLine& command) {
  RETURN_IF_ERROR(CheckFlagsOfNumerics(command));
  ASSIGN_OR_RETURN(const Composition composition, Compose(command, {.train = true}));
  const EstimatorOptions& options = composition.options;
  if (!options.config.use_tpu()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.where("use_tpu"),
                     ": use_tpu: got false, which computes in f32 whatever the precision, want "
                     "true to compare precisions"));
  }
  ASSIGN_OR_RETURN(Plan plan, PlanTrainings(options.config));
  plan.args.steps = command.Has("steps") ? command.GetInt("steps") : kDefaultSteps;
  plan.args.may_end_early = !command.Has("steps");
  ASSIGN_OR_RETURN(const Numerics numerics,
                   CompareNumerics(options, composition.input_fn, plan.args));
  const Findings findings(plan, numerics);
  const bool json = command.GetString("format", "text") == "json";
  std::ostringstream out;
  RowWriter rows(json, out);
  if (json) {
    WriteJsonLines(plan, numerics, findings, rows);
  } else {
    WriteTables(options.config, plan, numerics, findings, rows);
  }
  RETURN_IF_ERROR(WriteOutput(out.str()));
  if (findings.reference_finite() && findings.follows()) return CheckWarnings(command);
  LOG(WARNING) << findings.Verdict() << ".";
  return CheckWarnings(command);
}

}  // namespace tpurun
