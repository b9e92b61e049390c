// parse_example { feature { name kind } ... }: takes features of fixed shapes out of "record", a
// serialized tf.Example, straight from its bytes:
//   Example { 1: Features { 1 (repeated): entry { 1: name  2: Feature } } }
//   Feature { 1: BytesList | 2: FloatList | 3: Int64List }, each { 1 (repeated, numbers packed or
//   not) }
// As in protobuf's maps the last entry of a name counts, and an empty Feature is as good as none.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/at_field.h"
#include "data/transforms/transform_list.h"
#include "data/transforms/wire_format.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr char kRecord[] = "record";
constexpr char kMalformed[] = "is not a tf.Example";

using Feature = proto::ParseExample::Feature;

// The field numbers of Feature.kind in tensorflow.Example.
enum ListNumber : uint32_t { kBytesList = 1, kFloatList = 2, kInt64List = 3 };

std::string_view ListName(uint32_t number) {
  return number == kBytesList ? "bytes" : number == kFloatList ? "float" : "int64";
}

struct WantedFeature {
  ColumnType type;
  uint32_t list = 0;
  int64_t elements = 0;
  std::optional<Column> default_value;  // one row
};

// Puts the values of a BytesList, FloatList or Int64List into *column from value `next` on, numbers
// up to value `end`; returns the number of the value that would follow, -1 when malformed.
int64_t PutValues(std::string_view list, uint32_t kind, int64_t next, int64_t end, Column* column) {
  const auto put = [&](const char* values, int64_t count, int64_t size) {
    const int64_t fit = std::clamp<int64_t>(end - next, 0, count);
    std::memcpy(column->bytes.data() + next * size, values, fit * size);
    next += count;
  };
  WireField field;
  while (!list.empty()) {
    if (!ConsumeField(&list, &field)) return -1;
    if (field.number != 1) continue;
    if (kind == kBytesList) {
      if (field.type != WireField::kBytes) return -1;
      column->AppendView(field.bytes);
      ++next;
    } else if (kind == kFloatList) {
      const bool packed =
          field.type == WireField::kBytes && field.bytes.size() % sizeof(float) == 0;
      if (!packed && field.type != WireField::kFixed32) return -1;
      put(field.bytes.data(), field.bytes.size() / sizeof(float), sizeof(float));
    } else if (field.type == WireField::kVarint) {
      put(reinterpret_cast<const char*>(&field.varint), 1, sizeof field.varint);
    } else {
      if (field.type != WireField::kBytes) return -1;
      while (!field.bytes.empty()) {
        if (!ConsumeVarint(&field.bytes, &field.varint)) return -1;
        put(reinterpret_cast<const char*>(&field.varint), 1, sizeof field.varint);
      }
    }
  }
  return next;
}

class ExampleParser {
 public:
  explicit ExampleParser(std::vector<WantedFeature> wanted)
      : wanted_(std::move(wanted)), found_(wanted_.size()) {
    for (const WantedFeature& feature : wanted_) names_.push_back(feature.type.name);
  }

  absl::Status operator()(const Table& in, Table* out,
                          const std::function<std::string(int64_t row)>& where) {
    // BindParseExample puts them last.
    const std::span<Column> made = std::span(out->columns).last(wanted_.size());
    for (Column& column : made) {
      column.strings.clear();
      column.bytes.resize(in.rows * column.type.row_bytes());
    }
    const Column& records = in.column(kRecord);
    for (int64_t row = 0; row < in.rows; ++row) {
      const std::string wrong = Parse(records.string(row), row, made);
      if (!wrong.empty()) return absl::DataLossError(absl::StrCat(where(row), ": ", wrong));
    }
    return absl::OkStatus();
  }

 private:
  // Puts one row into the columns; returns what is wrong, empty when nothing is.
  std::string Parse(std::string_view example, int64_t row, std::span<Column> made) {
    for (std::string_view& feature : found_) feature = {};
    WireField field;
    while (!example.empty()) {
      if (!ConsumeField(&example, &field)) return kMalformed;
      if (field.number != 1) continue;
      if (field.type != WireField::kBytes || !FindFeatures(field.bytes)) return kMalformed;
    }
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const std::string wrong = PutFeature(wanted_[i], found_[i], row, &made[i]);
      if (!wrong.empty()) return absl::StrCat("feature ", Quote(names_[i]), " ", wrong);
    }
    return "";
  }

  // Notes the bytes of the wanted ones; false when malformed.
  bool FindFeatures(std::string_view features) {
    WireField entry, field;
    while (!features.empty()) {
      if (!ConsumeField(&features, &entry)) return false;
      if (entry.number != 1) continue;
      if (entry.type != WireField::kBytes) return false;
      std::string_view name, value;
      while (!entry.bytes.empty()) {
        if (!ConsumeField(&entry.bytes, &field)) return false;
        if (field.number > 2) continue;
        if (field.type != WireField::kBytes) return false;
        (field.number == 1 ? name : value) = field.bytes;
      }
      for (size_t i = 0; i < wanted_.size(); ++i) {
        if (names_[i] == name) found_[i] = value;
      }
    }
    return true;
  }

  static std::string PutFeature(const WantedFeature& wanted, std::string_view feature, int64_t row,
                                Column* column) {
    if (feature.empty()) {
      if (!wanted.default_value.has_value()) return "is missing and has no default_value";
      PutDefault(*wanted.default_value, row, column);
      return "";
    }
    const int64_t begin = row * wanted.elements;
    int64_t next = begin;
    WireField field;
    while (!feature.empty()) {
      if (!ConsumeField(&feature, &field)) return kMalformed;
      if (field.number > kInt64List) continue;
      if (field.type != WireField::kBytes) return kMalformed;
      if (field.number != wanted.list) {
        return absl::StrCat("has a list of ", std::string(ListName(field.number)), ", want ",
                            std::string(ListName(wanted.list)));
      }
      next = PutValues(field.bytes, wanted.list, next, begin + wanted.elements, column);
      if (next < 0) return kMalformed;
    }
    const int64_t count = next - begin;
    if (count == wanted.elements) return "";
    return absl::StrCat("has ", count, count == 1 ? " value" : " values", ", want ",
                        wanted.elements, " of shape ", DimsToString(wanted.type.dims));
  }

  static void PutDefault(const Column& value, int64_t row, Column* column) {
    for (size_t i = 0; i < value.strings.size(); ++i) column->AppendView(value.string(i));
    const size_t size = value.bytes.size();
    std::copy_n(value.bytes.data(), size, column->bytes.data() + row * size);
  }

  const std::vector<WantedFeature> wanted_;
  std::vector<std::string> names_;       // of wanted_
  std::vector<std::string_view> found_;  // Feature messages of the row, as wanted_
};

// One row of `values`, a single value being meant for every element.
template <typename T, typename Values>
absl::Status SetDefault(const Values& values, WantedFeature* feature) {
  if (values.empty()) return absl::OkStatus();
  const int64_t elements = feature->type.elements();
  if (values.size() != 1 && values.size() != elements) {
    return absl::InvalidArgumentError(absl::StrCat("feature ", Quote(feature->type.name), ": ",
                                                   values.size(), " default values, want 1 or ",
                                                   elements));
  }
  Column column{.type = feature->type};
  column.bytes.resize(elements * sizeof(T));
  for (int64_t i = 0; i < elements; ++i) {
    column.values<T>()[i] = values[values.size() == 1 ? 0 : i];
  }
  feature->default_value = std::move(column);
  return absl::OkStatus();
}

absl::StatusOr<WantedFeature> Want(const Feature& feature) {
  if (feature.name().empty()) return absl::InvalidArgumentError("a feature has no name");
  WantedFeature wanted;
  const auto set_type = [&](uint32_t list, proto::DataType dtype, const auto& shape) {
    wanted.list = list;
    wanted.type = {feature.name(), dtype, {shape.begin(), shape.end()}};
    wanted.elements = wanted.type.elements();
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
      return absl::InvalidArgumentError(absl::StrCat(
          "feature ", Quote(feature.name()), " has no kind: want bytes {}, int64 {} or float {}"));
  }
  RETURN_IF_ERROR(
      Annotate(CheckDims(wanted.type.dims), absl::StrCat("feature ", Quote(feature.name()))));
  if (feature.has_float_()) {
    RETURN_IF_ERROR(SetDefault<float>(feature.float_().default_value(), &wanted));
  } else if (feature.has_int64()) {
    RETURN_IF_ERROR(SetDefault<int64_t>(feature.int64().default_value(), &wanted));
  } else if (feature.bytes().has_default_value()) {
    wanted.default_value = Column{.type = wanted.type};
    for (int64_t i = 0; i < wanted.type.elements(); ++i) {
      wanted.default_value->AppendString(feature.bytes().default_value());
    }
  }
  return wanted;
}

}  // namespace

absl::StatusOr<RowTransform> BindParseExample(const proto::Transform& transform,
                                              const Schema& input) {
  const int record = FindColumn(input, kRecord);
  if (record < 0 || input[record].dtype != proto::STRING || !input[record].dims.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parses the key \"record\" of a tfrecord source; the keys here are ",
                     absl::StrJoin(ColumnNames(input), ", ")));
  }
  if (transform.parse_example().feature().empty()) {
    return absl::InvalidArgumentError("feature must be given, at least one");
  }
  RowTransform bound{.output = input, .reads = {kRecord}};
  bound.output.erase(bound.output.begin() + record);
  std::vector<WantedFeature> features;
  for (int i = 0; i < transform.parse_example().feature_size(); ++i) {
    const Feature& feature = transform.parse_example().feature(i);
    absl::StatusOr<WantedFeature> wanted = Want(feature);
    if (wanted.ok() && FindColumn(bound.output, feature.name()) >= 0) {
      wanted = absl::InvalidArgumentError(
          absl::StrCat("the key ", Quote(feature.name()), " is there already"));
    }
    RETURN_IF_ERROR(AtField(wanted.status(), ElementPath("feature", i)));
    bound.output.push_back(wanted->type);
    bound.makes.push_back(wanted->type.name);
    features.push_back(*std::move(wanted));
  }
  bound.apply = ExampleParser(std::move(features));
  return bound;
}

}  // namespace tpurun
