// decode_json { feature { name key dtype default_value shape label missing_indicator } ... }: takes
// features out of "line", a JSON object. nlohmann's parser reports what it reads, so a row is never
// a tree in memory.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "data/csv.h"
#include "data/field_value.h"
#include "data/transforms/check_json.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "nlohmann/json.hpp"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Deeper ones are no data that anyone wrote.
constexpr size_t kMaxJsonLevels = 100;

std::string KeyOf(const proto::DecodeJson::Feature& feature) {
  return feature.has_key() ? feature.key() : feature.name();
}

// The keys on the way to a value. nullopt for a JSON Pointer that is malformed (RFC 6901).
std::optional<std::vector<std::string>> PathOfKey(const std::string& key) {
  if (!key.starts_with('/')) return std::vector<std::string>{key};
  std::vector<std::string> path = absl::StrSplit(key.substr(1), '/');
  for (std::string& token : path) {
    for (size_t at = token.find('~'); at != std::string::npos; at = token.find('~', at + 1)) {
      if (at + 1 == token.size() || (token[at + 1] != '0' && token[at + 1] != '1')) {
        return std::nullopt;
      }
    }
    token = absl::StrReplaceAll(token, {{"~1", "/"}, {"~0", "~"}});
  }
  return path;
}

// The keys that lead to features.
struct JsonNode {
  std::map<std::string, std::unique_ptr<JsonNode>, std::less<>> children;
  int feature = -1;

  const JsonNode* Find(std::string_view key) const {
    const auto found = children.find(key);
    return found == children.end() ? nullptr : found->second.get();
  }
};

// One feature of a DecodeJson.
struct JsonFeature {
  proto::DecodeJson::Feature config;
  int64_t elements = 1;
  int indicator = -1;  // the index of its indicator among the columns made
};

struct JsonLayout {
  std::vector<JsonFeature> features;
  int num_columns = 0;
  JsonNode root;
};

// What happens while one row is read; the functions are those of nlohmann's json_sax, and false
// ends the reading, with wrong_.
class JsonRowReader {
 public:
  // With `may_lack_labels` a null label is absent.
  JsonRowReader(const JsonLayout& layout, std::span<Column> columns, bool may_lack_labels)
      : layout_(layout),
        columns_(columns),
        may_lack_labels_(may_lack_labels),
        found_(layout.features.size(), false) {}

  // Appends the values of a row. Returns what is wrong, empty if nothing is.
  std::string Read(std::string_view line) {
    if (StripBlanks(line).empty()) return "the line is empty, want a JSON object";
    if (nlohmann::json::sax_parse(line.begin(), line.end(), this)) return "";
    return wrong_.empty() ? "is not JSON" : wrong_;
  }
  bool found(size_t feature) const { return found_[feature]; }

  // ---- values

  bool null() {
    return Value("null", [this](const JsonFeature& feature, int index) {
      if (!feature.config.has_default_value()) return false;
      AppendDefault(feature, index);
      return true;
    });
  }
  bool boolean(bool value) {
    return Value(value ? "true" : "false", [&](const JsonFeature&, int index) {
      return AppendInteger(value ? 1 : 0, index);
    });
  }
  bool number_integer(int64_t value) {
    return Value(absl::StrCat(value),
                 [&](const JsonFeature&, int index) { return AppendInteger(value, index); });
  }
  bool number_unsigned(uint64_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return number_integer(static_cast<int64_t>(value));
    }
    return number_float(static_cast<double>(value), absl::StrCat(value));
  }
  bool number_float(double value, const std::string& text) {
    return Value(text, [&](const JsonFeature&, int index) {
      if (columns_[index].type.dtype == proto::FLOAT32) {
        return AppendField(text, &columns_[index]);
      }
      constexpr double kExact = 9007199254740992;  // 2^53
      return value == std::floor(value) && std::abs(value) <= kExact &&
             AppendInteger(static_cast<int64_t>(value), index);
    });
  }
  bool string(const std::string& text) {
    return Value("a string", [&](const JsonFeature&, int index) {
      if (columns_[index].type.dtype != proto::STRING) return false;
      columns_[index].AppendString(text);
      return true;
    });
  }
  bool binary(std::vector<uint8_t>&) { return Fail("has a binary value"); }  // not in texts

  // ---- structure

  bool start_object(size_t) {
    const JsonNode* node = &layout_.root;
    if (!frames_.empty()) {
      if (collects()) return FailType("an object");
      node = NextNode();
      if (node != nullptr && node->feature >= 0) {
        feature_ = node->feature;
        return FailType("an object");
      }
    }
    return Push({.is_object = true, .node = node});
  }
  bool key(const std::string& key) {
    Frame& frame = frames_.back();
    if (!frame.keys.insert(key).second) {
      return Fail(absl::StrCat("the key ", ShownField(key), " is given twice in an object"));
    }
    frame.next = frame.node == nullptr ? nullptr : frame.node->Find(key);
    return true;
  }
  bool end_object() {
    frames_.pop_back();
    return true;
  }
  bool start_array(size_t) {
    if (frames_.empty()) return Fail("want a JSON object, got an array");
    if (collects()) return StartCollected();
    const JsonNode* const node = NextNode();
    if (node == nullptr || node->feature < 0) return Push({.node = node});
    feature_ = node->feature;
    found_[feature_] = true;
    counts_.clear();
    return StartCollected();
  }
  bool end_array() {
    if (collects()) return EndCollected();
    frames_.pop_back();
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    // Without its number and its place: "[json.exception.parse_error.101] parse error at line 1,
    // column 5: syntax error ...".
    std::string_view text = error.what();
    const size_t number = text.find("] ");
    if (number != std::string_view::npos) text.remove_prefix(number + 2);
    const size_t place = text.find(": ");
    if (text.starts_with("parse error at") && place != std::string_view::npos) {
      text.remove_prefix(place + 2);
    }
    constexpr size_t kMost = 200;
    return Fail(absl::StrCat("is not JSON at byte ", position, ": ", Escape(text.substr(0, kMost)),
                             text.size() > kMost ? "..." : ""));
  }

 private:
  struct Frame {
    bool is_object = false;
    const JsonNode* node = nullptr;  // nullptr: nothing in it is taken
    const JsonNode* next = nullptr;  // of an object: where the last key leads
    int64_t index = 0;               // of an array: that of the next value
    std::set<std::string> keys;
  };

  bool Fail(std::string wrong) {
    if (wrong_.empty()) wrong_ = std::move(wrong);
    return false;
  }

  std::string TitleOf(int feature) const {
    return absl::StrCat("feature ", Quote(layout_.features[feature].config.name()));
  }

  bool FailType(std::string_view got) {
    const JsonFeature& feature = layout_.features[feature_];
    const bool overflows = feature.config.dtype() == proto::FLOAT32 && OverflowsFloat(got);
    const auto& shape = feature.config.shape();
    return Fail(absl::StrCat(
        TitleOf(feature_), ": want ", proto::DataType_Name(feature.config.dtype()),
        overflows ? kFloatBound : "",
        shape.empty() ? "" : absl::StrCat(" of shape [", absl::StrJoin(shape, ","), "]"), ", got ",
        got == "null"
            ? absl::StrCat("null, and there is no default_value",
                           AdviceOfMissing(feature.config.label(), feature.config.dtype()))
            : std::string(got)));
  }

  bool Push(Frame frame) {
    if (frames_.size() + counts_.size() >= kMaxJsonLevels) {
      return Fail(absl::StrCat("has more than ", kMaxJsonLevels, " levels of nesting"));
    }
    frames_.push_back(std::move(frame));
    return true;
  }

  // Where the value leads that is read next.
  const JsonNode* NextNode() {
    Frame& frame = frames_.back();
    if (frame.is_object) return frame.next;
    const int64_t index = frame.index++;
    return frame.node == nullptr ? nullptr : frame.node->Find(absl::StrCat(index));
  }

  // Calls append(feature, index) if the value belongs to a feature. It returns false if the value
  // is not of the feature's type.
  template <typename Append>
  bool Value(std::string_view shown, const Append& append) {
    if (frames_.empty()) return Fail(absl::StrCat("want a JSON object, got ", ToAbsl(shown)));
    if (collects()) return Element(shown, append);
    const JsonNode* const node = NextNode();
    if (node == nullptr || node->feature < 0) return true;
    feature_ = node->feature;
    const JsonFeature& feature = layout_.features[feature_];
    const bool may_lack = may_lack_labels_ && feature.config.label();
    if (shown == "null" && (feature.config.has_default_value() || may_lack)) {
      return true;  // as if absent
    }
    if (!feature.config.shape().empty()) return FailType(shown);
    found_[feature_] = true;
    if (!append(feature, feature_)) return FailType(shown);
    AppendIndicator(feature, 0);
    return true;
  }

  // ---- a feature with a shape

  // Whether an array is read whose values are a feature's.
  bool collects() const { return !counts_.empty(); }

  bool StartCollected() {
    const auto& shape = layout_.features[feature_].config.shape();
    if (collects()) ++counts_.back();
    counts_.push_back(0);
    return std::ssize(counts_) <= shape.size() ||
           FailType(shape.empty() ? "an array" : "arrays of more dimensions");
  }
  bool EndCollected() {
    const auto& shape = layout_.features[feature_].config.shape();
    const int64_t want = shape[static_cast<int>(counts_.size()) - 1];
    if (counts_.back() != want) {
      return FailType(
          absl::StrCat("an array of ", counts_.back(), counts_.back() == 1 ? " value" : " values"));
    }
    counts_.pop_back();
    return true;
  }
  template <typename Append>
  bool Element(std::string_view shown, const Append& append) {
    const JsonFeature& feature = layout_.features[feature_];
    const auto& shape = feature.config.shape();
    if (std::ssize(counts_) < shape.size()) return FailType("arrays of fewer dimensions");
    if (++counts_.back() > shape[shape.size() - 1]) {
      return FailType(absl::StrCat("an array of more than ", shape[shape.size() - 1]));
    }
    if (!append(feature, feature_)) return FailType(shown);
    AppendIndicator(feature, shown == "null" ? 1 : 0);
    return true;
  }

  // ---- columns

  bool AppendInteger(int64_t value, int index) {
    Column& column = columns_[index];
    const auto append = [&column](auto typed) {
      column.bytes.Append(&typed, sizeof(typed));
      return true;
    };
    switch (column.type.dtype) {
      case proto::FLOAT32:
        return append(static_cast<float>(value));
      case proto::INT64:
        return append(value);
      case proto::INT32:
        return std::in_range<int32_t>(value) && append(static_cast<int32_t>(value));
      default:
        return false;
    }
  }
  void AppendDefault(const JsonFeature& feature, int index) {
    AppendField(feature.config.default_value(), &columns_[index]);
  }
  void AppendIndicator(const JsonFeature& feature, float value) {
    if (feature.indicator >= 0) columns_[feature.indicator].bytes.Append(&value, sizeof(value));
  }

  const JsonLayout& layout_;
  const std::span<Column> columns_;  // of the features, then of the indicators
  const bool may_lack_labels_;
  std::vector<bool> found_;  // [feature]
  std::vector<Frame> frames_;
  int feature_ = 0;              // that is read
  std::vector<int64_t> counts_;  // values so far of each array of a feature that is being read
  std::string wrong_;
};

class JsonDecoder {
 public:
  JsonDecoder(std::shared_ptr<const JsonLayout> layout, bool may_lack_labels)
      : layout_(std::move(layout)), may_lack_labels_(may_lack_labels) {}

  absl::Status operator()(const RowBatch& rows, Table* out) const {
    // BindDecodeJson puts them last.
    const std::span<Column> made = std::span(out->columns).last(layout_->num_columns);
    for (Column& column : made) column.Clear();
    const Column& lines = rows.in.column(kLine);
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const std::string wrong = DecodeLine(lines.string(row), made);
      if (!wrong.empty()) return absl::DataLossError(absl::StrCat(rows.where(row), ": ", wrong));
    }
    return absl::OkStatus();
  }

 private:
  std::string DecodeLine(std::string_view line, std::span<Column> made) const {
    JsonRowReader reader(*layout_, made, may_lack_labels_);
    const std::string wrong = reader.Read(line);
    if (!wrong.empty()) return wrong;
    for (size_t i = 0; i < layout_->features.size(); ++i) {
      const JsonFeature& feature = layout_->features[i];
      if (reader.found(i)) continue;
      const bool may_lack = may_lack_labels_ && feature.config.label();
      if (!feature.config.has_default_value() && !may_lack) {
        return absl::StrCat("feature ", Quote(feature.config.name()), ": there is no ",
                            Quote(KeyOf(feature.config)), ", and no default_value",
                            AdviceOfMissing(feature.config.label(), feature.config.dtype()));
      }
      AppendMissing(feature, made, i);
    }
    return "";
  }

  static void AppendMissing(const JsonFeature& feature, std::span<Column> made, size_t index) {
    const std::string_view zero = feature.config.dtype() == proto::STRING ? "" : "0";
    const std::string_view value = feature.config.has_default_value()
                                       ? std::string_view(feature.config.default_value())
                                       : zero;
    for (int64_t i = 0; i < feature.elements; ++i) {
      AppendField(value, &made[index]);
      const float is_missing = 1;
      if (feature.indicator < 0) continue;
      made[feature.indicator].bytes.Append(&is_missing, sizeof(is_missing));
    }
  }

  const std::shared_ptr<const JsonLayout> layout_;
  const bool may_lack_labels_;
};

// What an exported model does: a missing number is NaN.
RowTransform::Export ExportJsonFills(const proto::DecodeJson& decode_json, ExportFormat format) {
  return [decode_json, format](ExportGraph& graph, const std::set<std::string>& wanted,
                               std::map<std::string, Value>& values) {
    for (const proto::DecodeJson::Feature& feature : decode_json.feature()) {
      const auto found = values.find(feature.name());
      if (!feature.has_default_value() || feature.dtype() != proto::FLOAT32) continue;
      if (found == values.end()) continue;
      const Value x = found->second;
      if (feature.has_missing_indicator() && wanted.count(feature.missing_indicator()) > 0)
        values[feature.missing_indicator()] = IndicateNaN(graph, format, x);
      if (wanted.count(feature.name()) == 0) continue;
      values[feature.name()] =
          FillNaN(graph, format, x, *ParseFloat(StripBlanks(feature.default_value())));
    }
  };
}

std::map<std::string, std::string> JsonIndicatorsMadeOf(const proto::DecodeJson& decode_json) {
  std::map<std::string, std::string> made_of;
  for (const proto::DecodeJson::Feature& feature : decode_json.feature()) {
    if (feature.has_missing_indicator() && feature.dtype() == proto::FLOAT32)
      made_of[feature.missing_indicator()] = feature.name();
  }
  return made_of;
}

RowTransform::Fields::Notes JsonNotes(const proto::DecodeJson& decode_json,
                                      const std::string& name) {
  RowTransform::Fields::Notes notes;
  for (const proto::DecodeJson::Feature& feature : decode_json.feature()) {
    if (feature.has_missing_indicator() && feature.missing_indicator() == name) {
      notes.note = absl::StrCat("1 if ", Quote(feature.name()), " is missing, else 0");
    }
    if (feature.name() != name) continue;
    if (KeyOf(feature) != name) notes.note = absl::StrCat("member ", Quote(KeyOf(feature)));
    if (!feature.has_default_value()) continue;
    if (feature.dtype() == proto::FLOAT32) {
      absl::StrAppend(&notes.note, notes.note.empty() ? "" : "; ",
                      "NaN is missing: ", feature.default_value());
    } else {
      notes.unsaid = absl::StrCat("it may be missing in a row: feed its default_value, ",
                                  Quote(feature.default_value()), ", then");
    }
  }
  return notes;
}

// Any feature whose key begins with that of the node.
int FeatureWithin(const JsonNode& node) {
  if (node.feature >= 0) return node.feature;
  return FeatureWithin(*node.children.begin()->second);
}

// Puts feature `index` where the keys lead. Returns what is wrong, empty if nothing is.
std::string PlaceJsonFeature(const std::vector<std::string>& keys, int index, JsonLayout* layout) {
  const auto title = [layout](int other) {
    return absl::StrCat("feature ", other + 1, " ", Quote(layout->features[other].config.name()));
  };
  JsonNode* node = &layout->root;
  for (const std::string& key : keys) {
    if (node->feature >= 0) {
      return absl::StrCat("is within the value of ", title(node->feature),
                          "; a slice takes elements of a feature");
    }
    std::unique_ptr<JsonNode>& child = node->children[key];
    if (child == nullptr) child = std::make_unique<JsonNode>();
    node = child.get();
  }
  if (node->feature >= 0) return "is taken by another feature";
  if (!node->children.empty()) {
    return absl::StrCat("leads to a value that has that of ", title(FeatureWithin(*node)),
                        " within; a slice takes elements of a feature");
  }
  node->feature = index;
  return "";
}

// Adds the feature to the layout's tree. `number` counts from 1.
void AddJsonFeature(const proto::DecodeJson::Feature& feature, int number, const std::string& path,
                    JsonLayout* layout, ConfigErrors& errors) {
  const std::string title = absl::StrCat("feature ", number);
  if (feature.name().empty()) {
    errors.Add(path, absl::StrCat(title, " has no name"));
    return;
  }
  CheckColumnName(feature.name(), {title, path}, "name", errors);
  const ConfigPlace place = {absl::StrCat(title, " ", Quote(feature.name())), path};
  CheckDims({feature.shape().begin(), feature.shape().end()}, place, "shape", errors);
  const proto::DataType dtype = feature.dtype();
  if (dtype != proto::FLOAT32 && dtype != proto::INT32 && dtype != proto::INT64 &&
      dtype != proto::STRING) {
    errors.Add(
        place, "dtype",
        absl::StrCat("dtype must be FLOAT32, INT32, INT64 or STRING, got ",
                     proto::DataType_Name(dtype), "; a cast after decode_json makes other types"));
    return;
  }
  Column probe{.type = {feature.name(), dtype, {}}};
  if (feature.has_default_value() && !AppendField(feature.default_value(), &probe)) {
    errors.Add(place, "default_value",
               absl::StrCat("default_value must be ", proto::DataType_Name(dtype), ", got ",
                            ShownField(feature.default_value())));
  }
  if (feature.has_missing_indicator() && !feature.has_default_value()) {
    errors.Add(place, "missing_indicator",
               "missing_indicator needs a default_value, the value where the member is missing");
  }
  const std::optional<std::vector<std::string>> keys = PathOfKey(KeyOf(feature));
  if (!keys.has_value()) {
    errors.Add(place, "key",
               absl::StrCat("key is not a JSON Pointer, in which ~0 is ~ and ~1 is /, got ",
                            Quote(feature.key())));
    return;
  }
  const std::string wrong = PlaceJsonFeature(*keys, number - 1, layout);
  if (wrong.empty()) return;
  errors.Add(place, "key", absl::StrCat("the key ", Quote(KeyOf(feature)), " ", wrong));
}

void CheckIsLine(const Schema& input, ConfigErrors& errors) {
  const int line = FindColumn(input, kLine);
  if (line < 0 || input[line].dtype != proto::STRING || !input[line].dims.empty()) {
    errors.Add("",
               absl::StrCat("decodes the key \"line\" of a text_line source; the keys here are ",
                            absl::StrJoin(ColumnNames(input), ", ")));
  } else if (FindColumn(input, kHeader) >= 0) {
    errors.Add("", "lines of JSON have no header: leave header: true out of text_line");
  }
}

}  // namespace

std::optional<RowTransform> BindDecodeJson(const proto::Transform& transform, const Schema& input,
                                           ConfigErrors& errors) {
  const proto::DecodeJson& decode_json = transform.decode_json();
  CheckIsLine(input, errors);
  RowTransform bound{.output = input, .reads = {kLine}};
  std::erase_if(bound.output, [](const ColumnType& type) {
    return type.name == kLine || type.name == kHeader || type.name == kSkippedLine;
  });
  const auto layout = std::make_shared<JsonLayout>();
  const auto make = [&](const std::string& name, proto::DataType dtype,
                        const proto::DecodeJson::Feature& feature, const std::string& path) {
    if (!name.empty() && FindColumn(bound.output, name) >= 0) {
      errors.Add(path, absl::StrCat("the key ", Quote(name), " is there already"));
    }
    bound.output.push_back({name, dtype, {feature.shape().begin(), feature.shape().end()}});
    bound.makes.push_back(name);
    if (feature.label()) bound.labels.push_back(name);
    ++layout->num_columns;
  };
  for (int i = 0; i < decode_json.feature_size(); ++i) {
    const proto::DecodeJson::Feature& feature = decode_json.feature(i);
    const std::string path = ElementPath("feature", i);
    AddJsonFeature(feature, i + 1, path, layout.get(), errors);
    make(feature.name(), feature.dtype(), feature, path);
    layout->features.push_back({.config = feature});
    if (errors.empty()) layout->features.back().elements = bound.output.back().elements();
  }
  for (int i = 0; i < decode_json.feature_size(); ++i) {
    const proto::DecodeJson::Feature& feature = decode_json.feature(i);
    if (!feature.has_missing_indicator()) continue;
    const std::string path = FieldPath(ElementPath("feature", i), "missing_indicator");
    CheckColumnName(feature.missing_indicator(), {absl::StrCat("feature ", i + 1), path}, "",
                    errors);
    layout->features[i].indicator = layout->num_columns;
    make(feature.missing_indicator(), proto::FLOAT32, feature, path);
  }
  if (!errors.empty()) return std::nullopt;
  bound.open = [layout](const RowOpenArgs& args, RowTransform* row) {
    row->apply = JsonDecoder(layout, args.mode == ModeKey::kPredict);
    return absl::OkStatus();
  };
  bound.fields = RowTransform::Fields{
      .notes = [decode_json](const std::string& name,
                             ExportFormat) { return JsonNotes(decode_json, name); },
      .made_of = JsonIndicatorsMadeOf(decode_json)};
  bound.tensorflow = ExportJsonFills(decode_json, ExportFormat::kTensorFlow);
  bound.onnx = ExportJsonFills(decode_json, ExportFormat::kOnnx);
  return bound;
}

std::string WrongJson(std::string_view line) {
  return JsonRowReader(JsonLayout(), {}, /*may_lack_labels=*/false).Read(line);
}

}  // namespace tpurun
