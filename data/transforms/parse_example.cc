// parse_example { feature { name kind label } ... }: takes features of fixed shapes out of
// "record", a serialized tf.Example, straight from its bytes:
//   Example { 1: Features { 1 (repeated): entry { 1: name  2: Feature } } }
//   Feature { 1: BytesList | 2: FloatList | 3: Int64List }, each { 1 (repeated, numbers packed or
//   not) }
// As in protobuf's maps the last entry of a name counts, and an empty Feature is as good as none.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/transforms/transform_list.h"
#include "data/transforms/wire_format.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Feature = proto::ParseExample::Feature;

// The field numbers of Feature.kind in tensorflow.Example.
enum ListNumber : uint32_t { kBytesList = 1, kFloatList = 2, kInt64List = 3 };

std::string_view ListName(uint32_t number) {
  return number == kBytesList ? "bytes" : number == kFloatList ? "float" : "int64";
}

struct WantedFeature {
  ColumnType type;
  uint32_t list = 0;
  int64_t elements = 0;                 // of a row; 0: any number, a list
  std::optional<Column> default_value;  // one row
  bool label = false;
};

absl::Status Malformed() { return absl::DataLossError("is not a tf.Example"); }

// Finds the values of the wanted features in one record after the other. Records mostly differ in
// their values alone: an entry of the map that begins as one that was walked before has its value
// at the same place, and is not walked.
class FeatureFinder {
 public:
  explicit FeatureFinder(const std::vector<WantedFeature>& wanted) {
    for (const WantedFeature& feature : wanted) {
      features_.push_back({.name = feature.type.name, .list = feature.list});
    }
  }

  // DataLoss when the record is malformed or a list is of another kind.
  absl::Status Find(std::string_view example) {
    for (Sought& feature : features_) {
      feature.entry = {};
      feature.known = false;
    }
    WireField features;
    while (!example.empty()) {
      if (!ConsumeField(&example, &features)) return Malformed();
      if (features.number != 1) continue;
      if (features.type != WireField::kBytes) return Malformed();
      while (!features.bytes.empty()) {
        if (!TakeKnownEntry(&features.bytes) && !TakeEntry(&features.bytes)) return Malformed();
      }
    }
    for (Sought& feature : features_) {
      if (feature.known || feature.entry.empty()) continue;
      RETURN_IF_ERROR(FindValues(&feature));
    }
    return absl::OkStatus();
  }

  // Of the record of Find.
  bool has(size_t feature) const { return !features_[feature].entry.empty(); }
  // Each is a string, or f32 one after the other, or varints one after the other; views of the
  // record.
  std::span<const std::string_view> values(size_t feature) const {
    return features_[feature].values;
  }

 private:
  struct Sought {
    std::string name;
    uint32_t list = 0;
    std::string_view entry;    // with its tag and size; empty when there is none
    std::string_view message;  // the tensorflow.Feature in it
    std::vector<std::string_view> values;
    // Of the entry that was walked last: what precedes its value, and the size of that; empty when
    // it has several, or more follows.
    std::string prefix;
    size_t value_size = 0;
    bool known = false;  // `entry` begins with that
  };

  bool TakeKnownEntry(std::string_view* entries) {
    for (size_t tries = 0; tries < features_.size(); ++tries) {
      if (next_ == features_.size()) next_ = 0;
      Sought& feature = features_[next_++];
      const size_t size = feature.prefix.size() + feature.value_size;
      if (feature.prefix.empty() || entries->size() < size ||
          std::memcmp(entries->data(), feature.prefix.data(), feature.prefix.size()) != 0) {
        continue;
      }
      feature.entry = entries->substr(0, size);
      feature.values.assign(1, feature.entry.substr(feature.prefix.size()));
      feature.known = true;
      entries->remove_prefix(size);
      return true;
    }
    return false;
  }

  // False when it is malformed.
  bool TakeEntry(std::string_view* entries) {
    const char* const begin = entries->data();
    WireField entry, field;
    if (!ConsumeField(entries, &entry)) return false;
    if (entry.number != 1) return true;
    if (entry.type != WireField::kBytes) return false;
    std::string_view name, message;
    while (!entry.bytes.empty()) {
      if (!ConsumeField(&entry.bytes, &field)) return false;
      if (field.number > 2) continue;
      if (field.type != WireField::kBytes) return false;
      (field.number == 1 ? name : message) = field.bytes;
    }
    for (Sought& feature : features_) {
      if (feature.name != name) continue;
      feature.entry = {};
      if (!message.empty()) feature.entry = {begin, static_cast<size_t>(entries->data() - begin)};
      feature.message = message;
      feature.known = false;
    }
    return true;
  }

  static absl::Status FindValues(Sought* feature) {
    feature->prefix.clear();
    feature->values.clear();
    WireField list, field;
    std::string_view message = feature->message;
    while (!message.empty()) {
      if (!ConsumeField(&message, &list)) return Malformed();
      if (list.number > kInt64List) continue;
      if (list.type != WireField::kBytes) return Malformed();
      if (list.number != feature->list) {
        return absl::DataLossError(absl::StrCat("feature ", Quote(feature->name), " has a list of ",
                                                std::string(ListName(list.number)), ", want ",
                                                std::string(ListName(feature->list))));
      }
      while (!list.bytes.empty()) {
        if (!ConsumeField(&list.bytes, &field)) return Malformed();
        if (field.number != 1) continue;
        if (!HoldsValues(field, list.number)) return Malformed();
        feature->values.push_back(field.bytes);
      }
    }
    // A varint that is not packed may have another size next time.
    if (feature->values.size() != 1 || field.type == WireField::kVarint) return absl::OkStatus();
    const std::string_view entry = feature->entry, value = feature->values[0];
    if (value.data() + value.size() != entry.data() + entry.size()) return absl::OkStatus();
    feature->prefix.assign(entry.data(), value.data());
    feature->value_size = value.size();
    return absl::OkStatus();
  }

  static bool HoldsValues(const WireField& field, uint32_t list) {
    if (field.type == WireField::kBytes) {
      return list != kFloatList || field.bytes.size() % sizeof(float) == 0;
    }
    return (list == kFloatList && field.type == WireField::kFixed32) ||
           (list == kInt64List && field.type == WireField::kVarint);
  }

  std::vector<Sought> features_;
  size_t next_ = 0;  // the feature whose prefix is tried first
};

class ExampleParser {
 public:
  ExampleParser(std::vector<WantedFeature> wanted, bool may_lack_labels)
      : wanted_(std::move(wanted)), finder_(wanted_), may_lack_labels_(may_lack_labels) {
    for (WantedFeature& feature : wanted_) {
      if (!may_lack_labels || !feature.label || feature.default_value.has_value()) continue;
      if (!feature.type.varies()) feature.default_value = ZeroRow(feature);
    }
  }

  absl::Status operator()(const RowBatch& rows, Table* out) {
    const Table& in = rows.in;
    // BindParseExample puts them last.
    const std::span<Column> made = std::span(out->columns).last(wanted_.size());
    for (Column& column : made) {
      column.Clear();
      if (column.type.varies()) continue;
      if (column.type.dtype == proto::STRING) {
        column.strings.resize(in.rows * column.type.elements());
      } else {
        column.bytes.resize(in.rows * column.type.row_bytes());
      }
    }
    const Column& records = in.column(kRecord);
    for (int64_t row = 0; row < in.rows; ++row) {
      const absl::Status parsed = Parse(records.string(row), row, made);
      if (!parsed.ok()) return Annotate(parsed, rows.where(row));
    }
    return absl::OkStatus();
  }

 private:
  // Puts one row into the columns.
  absl::Status Parse(std::string_view example, int64_t row, std::span<Column> made) {
    RETURN_IF_ERROR(finder_.Find(example));
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const WantedFeature& wanted = wanted_[i];
      if (wanted.elements == 0) {
        if (!PutList(finder_.has(i) ? finder_.values(i) : std::span<const std::string_view>(),
                     wanted, &made[i])) {
          return Malformed();
        }
        continue;
      }
      if (!finder_.has(i)) {
        if (!wanted.default_value.has_value()) {
          return absl::DataLossError(absl::StrCat(
              "feature ", Quote(wanted.type.name), " is missing and has no default_value",
              may_lack_labels_ ? "; if it is a label, label: true lets records for predict lack it"
                               : ""));
        }
        PutDefault(*wanted.default_value, row, &made[i]);
        continue;
      }
      const int64_t count = PutValues(finder_.values(i), wanted, row, &made[i]);
      if (count < 0) return Malformed();
      if (count != wanted.elements) {
        return absl::DataLossError(absl::StrCat(
            "feature ", Quote(wanted.type.name), " has ", count, count == 1 ? " value" : " values",
            ", want ", wanted.elements, " of shape ", DimsToString(wanted.type.dims)));
      }
    }
    return absl::OkStatus();
  }

  // Appends a row of as many values as there are. False when malformed.
  static bool PutList(std::span<const std::string_view> values, const WantedFeature& wanted,
                      Column* column) {
    if (wanted.list == kBytesList) {
      for (const std::string_view bytes : values) column->AppendView(bytes);
      column->EndList();
      return true;
    }
    Bytes numbers;
    for (std::string_view bytes : values) {
      if (wanted.list == kFloatList) {
        numbers.Append(bytes.data(), bytes.size() / sizeof(float) * sizeof(float));
        continue;
      }
      while (!bytes.empty()) {
        uint64_t value;
        if (!ConsumeVarint(&bytes, &value)) return false;
        numbers.Append(&value, sizeof value);
      }
    }
    const int64_t dims[] = {static_cast<int64_t>(numbers.size()) /
                            ElementBytes(column->type.dtype)};
    std::byte* const row = column->AddRow(dims);
    if (numbers.size() > 0) std::memcpy(row, numbers.data(), numbers.size());
    return true;
  }

  // Puts the values into the row, of numbers no more than belong there; returns how many there are,
  // -1 when malformed.
  static int64_t PutValues(std::span<const std::string_view> values, const WantedFeature& wanted,
                           int64_t row, Column* column) {
    int64_t count = 0;
    const auto put = [&](const char* from, int64_t more, int64_t size) {
      const int64_t fit = std::clamp<int64_t>(wanted.elements - count, 0, more);
      if (fit > 0) {
        std::memcpy(column->bytes.data() + (row * wanted.elements + count) * size, from,
                    fit * size);
      }
      count += more;
    };
    for (std::string_view bytes : values) {
      if (wanted.list == kBytesList) {
        if (count < wanted.elements) column->SetView(row * wanted.elements + count, bytes);
        ++count;
      } else if (wanted.list == kFloatList) {
        put(bytes.data(), bytes.size() / sizeof(float), sizeof(float));
      } else {
        while (!bytes.empty()) {
          uint64_t value;
          if (!ConsumeVarint(&bytes, &value)) return -1;
          put(reinterpret_cast<const char*>(&value), 1, sizeof value);
        }
      }
    }
    return count;
  }

  // What transforms see of a label that is absent; no model is fed it.
  static Column ZeroRow(const WantedFeature& feature) {
    Column zero{.type = feature.type};
    if (feature.list == kBytesList) {
      for (int64_t i = 0; i < feature.elements; ++i) zero.AppendString("");
    } else {
      zero.bytes.resize(feature.type.row_bytes());
      std::fill_n(zero.bytes.data(), zero.bytes.size(), std::byte{0});
    }
    return zero;
  }

  static void PutDefault(const Column& value, int64_t row, Column* column) {
    const int64_t strings = std::ssize(value.strings);
    for (int64_t i = 0; i < strings; ++i) column->SetView(row * strings + i, value.string(i));
    const size_t size = value.bytes.size();
    std::copy_n(value.bytes.data(), size, column->bytes.data() + row * size);
  }

  std::vector<WantedFeature> wanted_;
  FeatureFinder finder_;
  bool may_lack_labels_;
};

// One row of `values`, a single value being meant for every element.
template <typename T, typename Values>
void SetDefault(const Values& values, const ConfigPlace& place, WantedFeature* feature,
                ConfigErrors& errors) {
  if (values.empty()) return;
  const int64_t elements = feature->elements;
  if (values.size() != 1 && values.size() != elements) {
    errors.Add(place, "", absl::StrCat(values.size(), " default values, want 1 or ", elements));
    return;
  }
  Column column{.type = feature->type};
  column.bytes.resize(elements * sizeof(T));
  for (int64_t i = 0; i < elements; ++i) {
    column.values<T>()[i] = values[values.size() == 1 ? 0 : i];
  }
  feature->default_value = std::move(column);
}

// After a mistake it has its name at least.
WantedFeature Want(const Feature& feature, const std::string& path, ConfigErrors& errors) {
  WantedFeature wanted{.type = {.name = feature.name()}, .label = feature.label()};
  if (feature.name().empty()) {
    errors.Add(path, "a feature has no name");
    return wanted;
  }
  CheckColumnName(feature.name(), {.path = path}, "name", errors);
  const std::string title = absl::StrCat("feature ", Quote(feature.name()));
  const auto set_type = [&](uint32_t list, proto::DataType dtype, const auto& shape) {
    wanted.list = list;
    wanted.type = {feature.name(), dtype, {shape.begin(), shape.end()}};
  };
  switch (feature.kind_case()) {
    case Feature::kBytes:
      set_type(kBytesList, proto::STRING, feature.bytes().shape());
      break;
    case Feature::kFloat:
      set_type(kFloatList, proto::FLOAT32, feature.float_().shape());
      break;
    case Feature::kInt64:
      set_type(kInt64List, proto::INT64, feature.int64().shape());
      break;
    case Feature::KIND_NOT_SET:
      errors.Add(path, absl::StrCat(title, " has no kind: want bytes {}, int64 {} or float {}"));
      return wanted;
  }
  const ConfigPlace place = {title, path};
  if (wanted.type.is_list()) {
    const bool has_default =
        feature.float_().default_value_size() + feature.int64().default_value_size() > 0 ||
        feature.bytes().has_default_value();
    if (has_default) errors.Add(place, "", "a list of any length has no default_value");
    return wanted;
  }
  if (!CheckDims(wanted.type.dims, place, "", errors)) return wanted;
  wanted.elements = wanted.type.elements();
  if (feature.has_float_()) {
    SetDefault<float>(feature.float_().default_value(), place, &wanted, errors);
  } else if (feature.has_int64()) {
    SetDefault<int64_t>(feature.int64().default_value(), place, &wanted, errors);
  } else if (feature.bytes().has_default_value()) {
    wanted.default_value = Column{.type = wanted.type};
    for (int64_t i = 0; i < wanted.elements; ++i) {
      wanted.default_value->AppendString(feature.bytes().default_value());
    }
  }
  return wanted;
}

ExportTensor DefaultOf(const WantedFeature& feature, ElementType type) {
  if (!feature.default_value.has_value()) return {.type = type, .dims = {0}};  // it is required
  ExportTensor tensor{.type = type, .dims = feature.type.dims};
  const Column& column = *feature.default_value;
  if (type != ElementType::kString) {
    tensor.bytes.assign(reinterpret_cast<const char*>(column.bytes.data()), column.bytes.size());
  }
  for (int64_t i = 0; type == ElementType::kString && i < feature.elements; ++i) {
    tensor.strings.emplace_back(column.string(i));
  }
  return tensor;
}

void AddParseExample(const std::vector<WantedFeature>& features,
                     const std::set<std::string>& wanted, ExportGraph& graph,
                     std::map<std::string, Value>& columns) {
  std::vector<std::string> keys;
  std::vector<ElementType> types;
  std::vector<ExportShape> shapes;
  std::vector<Value> defaults;
  for (const WantedFeature& feature : features) {
    if (wanted.count(feature.type.name) == 0) continue;
    const ElementType type = *ExportedType(feature.type.dtype);
    keys.push_back(feature.type.name);
    types.push_back(type);
    shapes.push_back({feature.type.dims});
    defaults.push_back(graph.Constant(DefaultOf(feature, type), "default"));
  }
  const auto strings = [&graph](std::vector<std::string> values, const char* label) {
    const int64_t count = static_cast<int64_t>(values.size());
    return graph.Constant(ExportTensor::Strings({count}, std::move(values)), label);
  };
  std::vector<Value> inputs = {columns.at(kRecord), strings({}, "names"),
                               strings({}, "sparse_keys"), strings(keys, "dense_keys"),
                               strings({}, "ragged_keys")};
  inputs.insert(inputs.end(), defaults.begin(), defaults.end());
  const Value parsed = graph.Add("ParseExampleV2", std::move(inputs),
                                 {{"Tdense", types},
                                  {"num_sparse", int64_t{0}},
                                  {"sparse_types", std::vector<ElementType>()},
                                  {"ragged_value_types", std::vector<ElementType>()},
                                  {"ragged_split_types", std::vector<ElementType>()},
                                  {"dense_shapes", shapes}});
  for (size_t i = 0; i < keys.size(); ++i) {
    columns[keys[i]] = {parsed.node, static_cast<int>(i)};
  }
}

}  // namespace

std::optional<RowTransform> BindParseExample(const proto::Transform& transform, const Schema& input,
                                             ConfigErrors& errors) {
  const int record = FindColumn(input, kRecord);
  if (record < 0 || input[record].dtype != proto::STRING || !input[record].dims.empty()) {
    errors.Add("",
               absl::StrCat("parses the key \"record\" of a tfrecord source; the keys here are ",
                            absl::StrJoin(ColumnNames(input), ", ")));
    return std::nullopt;
  }
  RowTransform bound{.output = input, .reads = {kRecord}};
  bound.output.erase(bound.output.begin() + record);
  std::vector<WantedFeature> features;
  for (int i = 0; i < transform.parse_example().feature_size(); ++i) {
    const std::string path = ElementPath("feature", i);
    WantedFeature wanted = Want(transform.parse_example().feature(i), path, errors);
    const std::string& name = wanted.type.name;
    if (!name.empty() && FindColumn(bound.output, name) >= 0) {
      errors.Add(path, absl::StrCat("the key ", Quote(name), " is there already"));
    }
    bound.output.push_back(wanted.type);
    bound.makes.push_back(name);
    if (wanted.label) bound.labels.push_back(name);
    features.push_back(std::move(wanted));
  }
  if (!errors.empty()) return std::nullopt;
  const auto parse = [features](ExportGraph& graph, const std::set<std::string>& wanted,
                                std::map<std::string, Value>& columns) {
    AddParseExample(features, wanted, graph, columns);
  };
  const auto notes = [features](const std::string& column, ExportFormat format) {
    RowTransform::Fields::Notes notes;
    for (const WantedFeature& feature : features) {
      if (feature.type.name != column || !feature.default_value.has_value()) continue;
      // In TensorFlow the signatures that take tf.Examples say it.
      if (format == ExportFormat::kTensorFlow) {
        notes.note = "needed; a tf.Example may lack it";
      } else {
        notes.unsaid = "a tf.Example may lack it: feed its default_value then";
      }
    }
    return notes;
  };
  bound.fields = RowTransform::Fields{parse, notes};
  const auto nothing = [](ExportGraph&, const std::set<std::string>&,
                          std::map<std::string, Value>&) {};
  bound.tensorflow = bound.onnx = nothing;
  bound.apply = ExampleParser(features, /*may_lack_labels=*/false);
  bound.open = [features](const RowOpenArgs& args, RowTransform* row) {
    if (args.mode == ModeKey::kPredict) row->apply = ExampleParser(features, true);
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace tpurun
