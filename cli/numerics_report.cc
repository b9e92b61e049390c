#include "cli/numerics_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/json.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Tables of text show so many variables, the worst; JSON has all.
constexpr size_t kMostVariables = 10;

Json NumberOrNull(std::optional<double> number) {
  return number.has_value() ? JsonNumber(*number) : Json();
}

Json TrainingJson(const NumericsColumn& column, const NumericsFindings& findings) {
  const TrainingLosses& losses = findings.losses(column.name);
  return {{"kind", "training"},
          {"precision", column.name},
          {"passes", column.passes > 0 ? Json(column.passes) : Json()},
          {"mean_of_last_tenth", JsonNumber(MeanOfLastTenth(losses.losses))},
          {"from_reference", JsonNumber(findings.FromReference(column.name))},
          {"greatest_difference", JsonNumber(findings.GreatestDifference(column.name))},
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

const char* ReasonName(NumericsReason reason) {
  switch (reason) {
    case NumericsReason::kProducts:
      return "products";
    case NumericsReason::kStorage:
      return "storage";
    case NumericsReason::kUnderflow:
      return "underflow";
    case NumericsReason::kZero:
      return "zero";
  }
  return "";
}

}  // namespace

void WriteNumericsJson(const NumericsPlan& plan, const Numerics& numerics,
                       const NumericsFindings& findings, RowWriter& rows) {
  for (const NumericsColumn& column : plan.columns) rows.Object(TrainingJson(column, findings));
  rows.Object(TrainingJson({plan.other_seed}, findings));
  for (int64_t step = 1; step <= numerics.steps; ++step) {
    Json row = {{"kind", "loss"}, {"step", step}};
    for (const NumericsColumn& column : plan.columns)
      row[column.name] = JsonNumber(findings.losses(column.name).losses[step - 1]);
    row[plan.other_seed] = JsonNumber(findings.losses(plan.other_seed).losses[step - 1]);
    rows.Object(row);
  }
  for (const VariableNumerics* variable : findings.WorstFirst()) {
    Json row = {{"kind", "variable"},
                {"name", variable->name},
                {"layer", variable->layer},
                {"gradient_norm", JsonNumber(variable->norm)},
                {"noise", findings.IsNoise(*variable)}};
    for (const NumericsColumn& column : plan.columns) {
      if (column.name == plan.reference) continue;
      row[column.name] = NumberOrNull(NumericsFindings::Difference(*variable, column.name));
    }
    rows.Object(row);
    for (const GradientNumbers& step : variable->steps) rows.Object(GradientJson(*variable, step));
  }
  for (const NumericsFinding& finding : findings.list()) {
    rows.Object({{"kind", "keep_in_f32"},
                 {"variable", finding.variable},
                 {"layer", finding.layer},
                 {"reason", ReasonName(finding.reason)},
                 {"share", JsonNumber(finding.share)},
                 {"write", finding.write}});
  }
  rows.Object({{"kind", "verdict"},
               {"reference", plan.reference},
               {"steps", numerics.steps},
               {"follows", findings.reference_is_finite() ? Json(findings.follows()) : Json()},
               {"from_reference", JsonNumber(findings.FromReference(kNumericsDefault))},
               {"another_seed", JsonNumber(findings.FromReference(plan.other_seed))},
               {"another_rounding", JsonNumber(findings.FromReference(plan.highest))},
               {"message", findings.Verdict()}});
}

namespace {

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

std::string LossText(double loss) {
  return std::isnan(loss) ? "NaN" : absl::StrFormat("%.6g", loss);
}

std::string PercentText(std::optional<double> share) {
  return share.has_value() ? ShareText(*share) : "-";
}

std::string PowerText(std::optional<int> exponent) {
  return exponent.has_value() ? absl::StrCat("2^", *exponent) : "-";
}

void WriteLosses(const NumericsPlan& plan, const Numerics& numerics,
                 const NumericsFindings& findings, RowWriter& rows) {
  const std::string mean = absl::StrCat("mean_of_last_", LastTenth(numerics.steps));
  std::vector<Json> texts;
  const auto add = [&](const std::string& name, const std::string& passes) {
    texts.push_back({{"precision", name},
                     {"passes", passes},
                     {mean, LossText(MeanOfLastTenth(findings.losses(name).losses))},
                     {"apart", PercentText(findings.FromReference(name))},
                     {"greatest_of_a_step", PercentText(findings.GreatestDifference(name))}});
  };
  for (const NumericsColumn& column : plan.columns)
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
  for (const NumericsColumn& column : plan.columns) names.push_back(column.name);
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

void WriteGradients(const NumericsPlan& plan, const Numerics& numerics,
                    const NumericsFindings& findings, RowWriter& rows) {
  std::vector<const VariableNumerics*> variables = findings.WorstFirst();
  const size_t left_out = variables.size() - std::min(variables.size(), kMostVariables);
  variables.resize(variables.size() - left_out);
  if (variables.empty()) return;
  rows.Title("");
  rows.Title(absl::StrCat("Gradients of step 1: |g - g of ", plan.reference, "| / |g of ",
                          plan.reference, "|, the worst first"));
  std::vector<RowColumn> columns = {{"variable"}, {"|g|", true}};
  for (const NumericsColumn& column : plan.columns) {
    if (column.name != plan.reference) columns.push_back({column.name, true});
  }
  std::vector<Json> texts;
  for (const VariableNumerics* variable : variables) {
    Json row = {{"variable", variable->name}, {"|g|", absl::StrFormat("%.2g", variable->norm)}};
    for (size_t i = 2; i < columns.size(); ++i)
      row[columns[i].key] =
          findings.IsNoise(*variable)
              ? "noise"
              : PercentText(NumericsFindings::Difference(*variable, columns[i].key));
    texts.push_back(std::move(row));
  }
  rows.Table(columns, texts);
  rows.Title("");
  rows.Title(
      absl::StrCat("Gradients of ", plan.reference, ": elements that are 0, or flushed to 0;"));
  rows.Title("magnitude of the others; updates that a variable in bf16 would lose");
  texts.clear();
  for (const VariableNumerics* variable : variables) {
    for (const GradientNumbers& step : variable->steps) {
      texts.push_back({{"variable", variable->name},
                       {"step", step.step},
                       {"zero", PercentText(ShareOf(step.zeros, step.elements))},
                       {"flushed", PercentText(ShareOf(step.flushed, step.elements))},
                       {"smallest", PowerText(step.smallest)},
                       {"largest", PowerText(step.largest)},
                       {"lost", PercentText(ShareOf(step.update_lost, step.updated))}});
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

std::string WhyText(const NumericsFinding& finding) {
  const std::string share = PercentText(finding.share);
  switch (finding.reason) {
    case NumericsReason::kProducts:
      return "products change it by " + share;
    case NumericsReason::kStorage:
      return "storage changes it by " + share;
    case NumericsReason::kUnderflow:
      return share + " flushed to 0";
    case NumericsReason::kZero:
      return "all elements are 0";
  }
  return "";
}

void WriteFindings(const NumericsFindings& findings, RowWriter& rows) {
  rows.Title("");
  if (findings.list().empty()) {
    rows.Title("No layer needs f32: no gradient differs or underflows.");
    return;
  }
  std::vector<Json> texts;
  for (const NumericsFinding& finding : findings.list()) {
    if (texts.size() == kMostVariables) break;
    texts.push_back(
        {{"gradient", finding.variable}, {"why", WhyText(finding)}, {"write", finding.write}});
  }
  rows.Table({{"gradient"}, {"why"}, {"write"}}, texts);
  if (findings.list().size() > texts.size()) {
    rows.Title(
        absl::StrCat(findings.list().size() - texts.size(), " more: --format=json shows all"));
  }
}

}  // namespace

void WriteNumericsTables(const proto::RunConfig& run, const NumericsPlan& plan,
                         const Numerics& numerics, const NumericsFindings& findings,
                         RowWriter& rows) {
  rows.Title(absl::StrCat("Model ", Quote(run.model().name()), ": ", numerics.steps, " steps of ",
                          run.train_batch_size(), " examples, compared with ", plan.reference));
  rows.Title("");
  WriteLosses(plan, numerics, findings, rows);
  WriteGradients(plan, numerics, findings, rows);
  WriteFindings(findings, rows);
  rows.Title("");
  rows.Title(findings.Verdict() + ".");
}

}  // namespace tpurun
