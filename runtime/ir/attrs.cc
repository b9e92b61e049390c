#include "runtime/ir/attrs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string DoubleText(double value) { return ShortestText(value) + "f"; }

struct Printer {
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return DoubleText(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return Quote(value); }
  std::string operator()(const std::vector<int64_t>& value) const { return DimsToString(value); }
  std::string operator()(const std::vector<double>& value) const {
    std::vector<std::string> pieces;
    for (const double v : value) pieces.push_back(DoubleText(v));
    return absl::StrCat("[", absl::StrJoin(pieces, ","), "]");
  }
  std::string operator()(DType value) const { return std::string(Name(value)); }
  std::string operator()(const TileProgram& value) const { return Quote(ToString(value)); }
};

// A list with at least one double is a list of doubles. "[]" is a list of integers.
absl::StatusOr<AttrValue> ParseList(const std::string& text) {
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  std::string_view rest = std::string_view(text).substr(1, text.size() - 2);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view piece = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (const std::optional<int64_t> value = ParseInt64(piece)) {
      ints.push_back(*value);
    } else if (!piece.empty() && piece.back() == 'f' &&
               ParseDouble(piece.substr(0, piece.size() - 1))) {
      doubles.push_back(*ParseDouble(piece.substr(0, piece.size() - 1)));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("bad list attribute ", text));
    }
  }
  if (!doubles.empty() && !ints.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("mixed list attribute ", text));
  }
  if (!doubles.empty()) return AttrValue(doubles);
  return AttrValue(ints);
}

absl::StatusOr<AttrValue> ParseAttrValue(const std::string& text) {
  if (text == "true" || text == "false") return AttrValue(text == "true");
  if (const std::optional<DType> dtype = ParseDType(text)) return AttrValue(*dtype);
  if (!text.empty() && text.front() == '[' && text.back() == ']') return ParseList(text);
  if (const std::optional<std::string> string = Unquote(text)) return AttrValue(*string);
  if (const std::optional<int64_t> value = ParseInt64(text)) return AttrValue(*value);
  if (!text.empty() && text.back() == 'f') {
    const std::optional<double> value =
        ParseDouble(std::string_view(text).substr(0, text.size() - 1));
    if (value) return AttrValue(*value);
  }
  return absl::InvalidArgumentError(absl::StrCat("bad attribute value ", text));
}

}  // namespace

std::string ToString(const AttrValue& value) { return std::visit(Printer(), value); }

std::string Attrs::ToString() const {
  std::vector<std::string> pieces;
  for (const auto& [name, value] : values_) {
    pieces.push_back(absl::StrCat(name, "=", tpurun::ToString(value)));
  }
  return absl::StrCat("{", absl::StrJoin(pieces, ", "), "}");
}

absl::StatusOr<Attrs> ParseAttrs(std::string_view text) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    return absl::InvalidArgumentError(
        absl::StrCat("want {name=value, ...}, got ", absl::string_view(text.data(), text.size())));
  }
  text = text.substr(1, text.size() - 2);
  Attrs attrs;
  // A value ends at the first comma outside of brackets and quotes.
  for (size_t at = 0; at < text.size();) {
    const size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) return absl::InvalidArgumentError("attribute without =");
    size_t end = equals + 1;
    bool quoted = false;
    int depth = 0;
    for (; end < text.size(); ++end) {
      const char c = text[end];
      if (quoted && c == '\\') ++end;
      if (c == '"') quoted = !quoted;
      if (!quoted && c == '[') ++depth;
      if (!quoted && c == ']') --depth;
      if (!quoted && depth == 0 && c == ',') break;
    }
    end = std::min(end, text.size());
    const std::string value_text(text.substr(equals + 1, end - equals - 1));
    ASSIGN_OR_RETURN(AttrValue value, ParseAttrValue(value_text));
    const std::string name(text.substr(at, equals - at));
    if (attrs.Has(name)) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is given twice"));
    }
    attrs.Set(name, std::move(value));
    at = end + 1;
    while (at < text.size() && text[at] == ' ') ++at;
  }
  return attrs;
}

}  // namespace tpurun
