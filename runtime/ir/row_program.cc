#include "runtime/ir/row_program.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kReturn[] = "return";

std::string InputText(const RowProgram::Input& input) {
  std::string text = absl::StrCat(input.is_step ? "t" : "x", input.index);
  if (input.result > 0) absl::StrAppend(&text, ":", input.result);
  return text;
}

// "x3", "t3" or "t3:1". A step before step `end`.
std::optional<RowProgram::Input> ParseInput(const std::string& word, int end) {
  const std::vector<std::string> parts = absl::StrSplit(word, ':');
  if (parts.size() > 2 || parts[0].size() < 2) return std::nullopt;
  const bool is_step = parts[0][0] == 't';
  if (!is_step && (parts[0][0] != 'x' || parts.size() > 1)) return std::nullopt;
  const std::optional<int64_t> index = ParseInt64(parts[0].substr(1));
  const std::optional<int64_t> result = parts.size() > 1 ? ParseInt64(parts[1]) : 0;
  constexpr int64_t kMost = 1 << 20;
  if (!index || *index < 0 || *index >= (is_step ? end : kMost)) return std::nullopt;
  if (!result || *result < 0 || *result >= kMost) return std::nullopt;
  return RowProgram::Input{is_step, static_cast<int>(*index), static_cast<int>(*result)};
}

absl::Status ParseInputs(const std::vector<std::string>& words, size_t first, int end,
                         std::vector<RowProgram::Input>* inputs) {
  for (size_t i = first; i < words.size(); ++i) {
    const std::optional<RowProgram::Input> input = ParseInput(words[i], end);
    if (!input)
      return absl::InvalidArgumentError(absl::StrCat("no value ", words[i], " before step ", end));
    inputs->push_back(*input);
  }
  return absl::OkStatus();
}

// The pieces of a program between semicolons outside of quotes.
std::vector<std::string> Pieces(std::string_view text) {
  std::vector<std::string> pieces(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == ';' && !quoted) {
      pieces.emplace_back();
      continue;
    }
    pieces.back() += text[i];
    if (quoted && text[i] == '\\' && i + 1 < text.size()) pieces.back() += text[++i];
  }
  return pieces;
}

absl::StatusOr<RowProgram::Step> ParseRowStep(const std::string& text, int index,
                                              const FindOp& find_op) {
  const size_t brace = text.find('{');
  const std::vector<std::string> words =
      absl::StrSplit(text.substr(0, brace), ' ', absl::SkipEmpty());
  if (words.size() < 3 || words[0] != absl::StrCat("t", index) || words[1] != "=") {
    return absl::InvalidArgumentError(
        absl::StrCat("want t", index, " = OP OPERANDS, got \"", text, "\""));
  }
  RowProgram::Step step{.op = find_op(words[2])};
  if (step.op == nullptr) return absl::InvalidArgumentError(absl::StrCat("no op ", words[2]));
  if (brace != std::string::npos) {
    ASSIGN_OR_RETURN(Attrs attrs, ParseAttrs(std::string_view(text).substr(brace)));
    ASSIGN_OR_RETURN(step.attrs, TypedAttrs(*step.op, std::move(attrs)));
  }
  RETURN_IF_ERROR(ParseInputs(words, 3, index, &step.inputs));
  return step;
}

}  // namespace

std::string ToString(const RowProgram& program) {
  std::string text;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const RowProgram::Step& step = program.steps[i];
    absl::StrAppend(&text, "t", i, " = ", step.op->name);
    for (const RowProgram::Input& input : step.inputs)
      absl::StrAppend(&text, " ", InputText(input));
    if (!step.attrs.values().empty()) absl::StrAppend(&text, " ", step.attrs.ToString());
    absl::StrAppend(&text, "; ");
  }
  absl::StrAppend(&text, kReturn);
  for (const RowProgram::Input& result : program.results)
    absl::StrAppend(&text, " ", InputText(result));
  return text;
}

absl::StatusOr<RowProgram> ParseRowProgram(std::string_view text, const FindOp& find_op) {
  std::vector<std::string> pieces = Pieces(text);
  RowProgram program;
  const int steps = static_cast<int>(pieces.size()) - 1;
  for (int i = 0; i < steps; ++i) {
    ASSIGN_OR_RETURN(RowProgram::Step step, ParseRowStep(pieces[i], i, find_op));
    program.steps.push_back(std::move(step));
  }
  const std::vector<std::string> last = absl::StrSplit(pieces.back(), ' ', absl::SkipEmpty());
  if (last.size() < 2 || last[0] != kReturn) {
    return absl::InvalidArgumentError(
        absl::StrCat("want \"return VALUES\" at the end, got \"", pieces.back(), "\""));
  }
  RETURN_IF_ERROR(ParseInputs(last, 1, steps, &program.results));
  for (const RowProgram::Input& result : program.results) {
    if (!result.is_step) {
      return absl::InvalidArgumentError(
          absl::StrCat("want results of steps, got ", InputText(result)));
    }
  }
  return program;
}

}  // namespace tpurun
