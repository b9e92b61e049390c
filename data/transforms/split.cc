// split { feature output standardize by }: the words, characters or bytes of a text, as a list of
// any length.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "data/transforms/unicode.h"
#include "data/transforms/words.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using proto::Split;

// Keras' DEFAULT_STRIP_REGEX, keras/layers/preprocessing/text_vectorization.py, and what it has.
constexpr char kPunctuationRegex[] = R"([!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\'])";

bool Lowers(const Split& split) {
  return split.standardize() == Split::LOWER ||
         split.standardize() == Split::LOWER_AND_STRIP_PUNCTUATION;
}

bool StripsPunctuation(const Split& split) {
  return split.standardize() == Split::STRIP_PUNCTUATION ||
         split.standardize() == Split::LOWER_AND_STRIP_PUNCTUATION;
}

// Appends the words of the text, which `is_separator` separates.
template <typename IsSeparator>
void AppendWords(std::string_view text, IsSeparator is_separator, Column* to) {
  const auto start = static_cast<int64_t>(to->chars.size());
  to->chars.append(text);
  ForEachWord(text, is_separator, [&](size_t begin, size_t size) {
    to->strings.push_back(
        {nullptr, start + static_cast<int64_t>(begin), static_cast<int64_t>(size)});
  });
}

void AppendCharacters(std::string_view text, Column* to) {
  while (!text.empty()) {
    const Utf8Sequence character = FirstSequence(text);
    to->AppendString(character.valid ? text.substr(0, character.size) : kReplacementCharacter);
    text.remove_prefix(character.size);
  }
}

void AppendParts(std::string_view text, Split::By by, Column* to) {
  switch (by) {
    case Split::WHITESPACE:
      return AppendWords(text, IsWordSpace, to);
    case Split::WHITESPACE_AND_PUNCTUATION:
      return AppendWords(
          text, [](char c) { return IsWordSpace(c) || IsPunctuation(c); }, to);
    case Split::CHARACTERS:
      return AppendCharacters(text, to);
    case Split::BYTES:
      for (size_t i = 0; i < text.size(); ++i) to->AppendString(text.substr(i, 1));
      return;
  }
}

class TextSplitter {
 public:
  TextSplitter(const Split& split, std::string output)
      : feature_(split.feature()),
        output_(std::move(output)),
        lowers_(Lowers(split)),
        strips_(StripsPunctuation(split)),
        by_(split.by()) {}

  absl::Status operator()(const RowBatch& rows, Table* out) {
    const Column& from = rows.in.column(feature_);
    Column& to = out->column(output_);
    to.Clear();
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const std::string_view text = from.string(row);
      if (text.size() > kMostSplitBytes) {
        return absl::DataLossError(absl::StrCat(rows.where(row), ": split: feature ",
                                                Quote(feature_), " has ", text.size(),
                                                " bytes, want at most ", kMostSplitBytes));
      }
      AppendParts(StandardizeText(text, lowers_, strips_, &text_), by_, &to);
      to.EndList();
    }
    return absl::OkStatus();
  }

 private:
  std::string feature_, output_;
  bool lowers_;
  bool strips_;
  Split::By by_;
  std::string text_;  // standardized
};

// ------------------------------------------------------------------------------- TensorFlow's ops

constexpr ElementType kSplits = ElementType::kInt64;

Value ReplacePunctuation(ExportGraph& graph, Value text, const std::string& by) {
  return graph.Add(
      "StaticRegexReplace", {text},
      {{"pattern", std::string(kPunctuationRegex)}, {"rewrite", by}, {"replace_global", true}});
}

// `indices`: of each part its row, ascending, and its place there.
Value AddRowSplits(ExportGraph& graph, Value text, Value indices) {
  const Value row_of_part =
      graph.Add("Slice", {indices, graph.Int64s({0, 0}, "begin"), graph.Int64s({-1, 1}, "size")},
                {{"T", kSplits}, {"Index", kSplits}});
  const Value rows = TensorFlowRange(graph, TensorFlowRows(graph, text, ElementType::kString), 1);
  const Value splits = graph.Add(
      "LowerBound",
      {Reshaped(graph, row_of_part, kSplits, {1, -1}), Reshaped(graph, rows, kSplits, {1, -1})},
      {{"T", kSplits}, {"out_type", kSplits}});
  return Reshaped(graph, splits, kSplits, {-1});
}

Ragged AddUnicodeSplit(ExportGraph& graph, Value text) {
  const ExportAttrs errors = {{"errors", std::string("replace")},
                              {"replacement_char", int64_t{0xfffd}},
                              {"Tsplits", kSplits}};
  ExportAttrs decode = errors, encode = errors;
  decode["input_encoding"] = std::string("UTF-8");
  decode["replace_control_characters"] = false;
  encode["output_encoding"] = std::string("UTF-8");
  const Value decoded = graph.Add("UnicodeDecode", {text}, decode);
  const Value characters = {decoded.node, 1};
  // One character of each.
  const Value ends =
      TensorFlowRange(graph, TensorFlowRows(graph, characters, ElementType::kInt32), 1);
  return {graph.Add("UnicodeEncode", {characters, ends}, encode), decoded};
}

Ragged AddSplit(ExportGraph& graph, Value text, const Split& split) {
  if (Lowers(split)) {
    text = graph.Add("StringLower", {text}, {{"encoding", std::string("utf-8")}});
  }
  if (StripsPunctuation(split)) text = ReplacePunctuation(graph, text, "");
  if (split.by() == Split::CHARACTERS) return AddUnicodeSplit(graph, text);
  if (split.by() == Split::WHITESPACE_AND_PUNCTUATION) text = ReplacePunctuation(graph, text, " ");
  // An empty separator is whitespace of the one op and every byte of the other.
  const Value separator = graph.Constant(ExportTensor::Strings({}, {""}), "sep");
  const Value parts =
      split.by() == Split::BYTES
          ? graph.Add("StringSplit", {text, separator}, {{"skip_empty", false}})
          : graph.Add("StringSplitV2", {text, separator}, {{"maxsplit", int64_t{-1}}});
  return {{parts.node, 1}, AddRowSplits(graph, text, parts)};
}

}  // namespace

std::string_view StandardizeText(std::string_view text, bool lowers, bool strips_punctuation,
                                 std::string* scratch) {
  if (lowers) {
    LowerUtf8(text, scratch);
    text = *scratch;
  }
  if (!strips_punctuation) return text;
  if (!lowers) *scratch = text;
  scratch->erase(std::remove_if(scratch->begin(), scratch->end(), IsPunctuation), scratch->end());
  return *scratch;
}

std::optional<RowTransform> BindSplit(const proto::Transform& transform, const Schema& input,
                                      ConfigErrors& errors) {
  const Split& split = transform.split();
  RowTransform bound = BindDecoder(split.feature(), split.has_output() ? &split.output() : nullptr,
                                   {.dtype = proto::STRING, .dims = {kVaries}}, input, errors);
  if (StripsPunctuation(split) && split.by() == Split::WHITESPACE_AND_PUNCTUATION) {
    errors.Add("by",
               absl::StrCat("by: WHITESPACE_AND_PUNCTUATION separates at the punctuation that "
                            "standardize: ",
                            Split::Standardize_Name(split.standardize()),
                            " removes; want standardize: ", Lowers(split) ? "LOWER" : "NONE",
                            ", or by: WHITESPACE"));
  }
  if (!errors.empty()) return std::nullopt;
  const std::string& output = bound.makes[0];
  bound.apply = TextSplitter(split, output);
  bound.tensorflow = [split, output](ExportGraph& graph, const std::set<std::string>&,
                                     std::map<std::string, Value>& columns) {
    PutRagged(AddSplit(graph, columns.at(split.feature()), split), output, &columns);
  };
  return bound;
}

}  // namespace tpurun
