// split { feature output standardize by }: the words, characters or bytes of a text, as a list of
// any length.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "data/transforms/unicode.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using proto::Split;

// The parts of a text of that size take at most 200 MiB: less than the largest image.
constexpr size_t kMostTextBytes = 8 << 20;

// Keras' DEFAULT_STRIP_REGEX, keras/layers/preprocessing/text_vectorization.py, and what it has.
constexpr char kPunctuationRegex[] = R"([!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\'])";
bool IsPunctuation(char c) { return absl::ascii_ispunct(static_cast<unsigned char>(c)); }
bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

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
  const auto begin = static_cast<int64_t>(to->chars.size());
  to->chars.append(text);
  auto word = std::find_if_not(text.begin(), text.end(), is_separator);
  while (word != text.end()) {
    const auto end = std::find_if(word, text.end(), is_separator);
    to->strings.push_back({nullptr, begin + (word - text.begin()), end - word});
    word = std::find_if_not(end, text.end(), is_separator);
  }
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
      return AppendWords(text, IsSpace, to);
    case Split::WHITESPACE_AND_PUNCTUATION:
      return AppendWords(
          text, [](char c) { return IsSpace(c) || IsPunctuation(c); }, to);
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
      if (text.size() > kMostTextBytes) {
        return absl::DataLossError(absl::StrCat(rows.where(row), ": split: feature ",
                                                Quote(feature_), " has ", text.size(),
                                                " bytes, want at most ", kMostTextBytes));
      }
      AppendParts(Standardized(text), by_, &to);
      to.EndList();
    }
    return absl::OkStatus();
  }

 private:
  // Valid until the next call.
  std::string_view Standardized(std::string_view text) {
    if (lowers_) {
      LowerUtf8(text, &text_);
      text = text_;
    }
    if (!strips_) return text;
    if (!lowers_) text_ = text;
    text_.erase(std::remove_if(text_.begin(), text_.end(), IsPunctuation), text_.end());
    return text_;
  }

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
