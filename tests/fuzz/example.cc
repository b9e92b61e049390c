// A serialized tf.Example through parse_example, and its text "b" through split in every way.
// Input: the Example. When protobuf can read it too, what protobuf writes of it must give the
// values that protobuf has.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "data/transforms/transform_list.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "proto/config_errors.h"
#include "proto/example.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "tests/fuzz/targets.h"

namespace tpurun {
namespace {

constexpr char kTransform[] = R"(parse_example {
  feature { name: "b" bytes {} }
  feature { name: "d" bytes { default_value: "default" } }
  feature { name: "f" float { shape: 3 } }
  feature { name: "g" float { default_value: 0.5 } }
  feature { name: "i" int64 { shape: 2 shape: 1 } }
  feature { name: "j" int64 { default_value: -1 } }
})";

const RowTransform& Parser() {
  static const RowTransform* const parser = [] {
    proto::Transform transform;
    CHECK(google::protobuf::TextFormat::ParseFromString(kTransform, &transform));
    ConfigErrors errors;
    std::optional<RowTransform> bound =
        BindParseExample(transform, {{"record", proto::STRING, {}}}, errors);
    CHECK(bound.has_value()) << errors.all()[0].message;
    return new RowTransform(*std::move(bound));
  }();
  return *parser;
}

// Twice the same row: what one leaves behind must not change the other.
absl::Status Parse(std::string_view example, Table* out) {
  Table in{.rows = 2};
  in.columns.push_back({.type = {"record", proto::STRING, {}}});
  in.columns[0].AppendView(example);
  in.columns[0].AppendView(example);
  *out = {.rows = in.rows};
  for (const ColumnType& type : Parser().output) out->columns.push_back({.type = type});
  const std::function<std::string(int64_t)> where = [](int64_t) { return "record 0 of f"; };
  return Parser().apply({in, {}, where}, out);
}

template <typename Values>
bool SameBytes(const Column& column, const Values& values) {
  const size_t size = values.size() * sizeof(values.Get(0));
  return column.bytes.size() == 2 * size &&
         std::memcmp(column.bytes.data(), values.data(), size) == 0 &&
         std::memcmp(column.bytes.data() + size, values.data(), size) == 0;
}

void CheckSameValues(const Table& table, const tensorflow::Example& example) {
  for (const auto& [name, feature] : example.features().feature()) {
    const int index = table.Find(name);
    if (index < 0) continue;
    const Column& column = table.columns[index];
    if (feature.has_bytes_list()) {
      CHECK_EQ(feature.bytes_list().value_size(), 1) << name;
      CHECK_EQ(column.string(0), feature.bytes_list().value(0)) << name;
      CHECK_EQ(column.string(1), feature.bytes_list().value(0)) << name;
    } else if (feature.has_float_list()) {
      CHECK(SameBytes(column, feature.float_list().value())) << name;
    } else if (feature.has_int64_list()) {
      CHECK(SameBytes(column, feature.int64_list().value())) << name;
    }
  }
}

// Of a STRING feature "b": its parts as "parts", and their pairs as "pairs".
struct Splitting {
  proto::Split::By by;
  RowTransform split, ngrams;
};

RowTransform BindTo(const proto::Transform& transform, const Schema& schema) {
  ConfigErrors errors;
  std::optional<RowTransform> bound =
      FindTransform(transform.kind_case())->bind(transform, schema, errors);
  CHECK(bound.has_value()) << errors.all()[0].message;
  return *std::move(bound);
}

const std::vector<Splitting>& Splittings() {
  static const auto* const splittings = [] {
    auto* const all = new std::vector<Splitting>();
    for (int by = proto::Split::By_MIN; by <= proto::Split::By_MAX; ++by) {
      proto::Transform transform, pairs;
      transform.mutable_split()->set_feature("b");
      transform.mutable_split()->set_output("parts");
      transform.mutable_split()->set_by(static_cast<proto::Split::By>(by));
      pairs.mutable_ngrams()->set_feature("parts");
      pairs.mutable_ngrams()->set_output("pairs");
      pairs.mutable_ngrams()->add_width(2);
      for (const proto::Split::Standardize standardize :
           {proto::Split::NONE, proto::Split::LOWER}) {
        transform.mutable_split()->set_standardize(standardize);
        Splitting& added = all->emplace_back();
        added.by = transform.split().by();
        added.split = BindTo(transform, {{"b", proto::STRING, {}}});
        added.ngrams = BindTo(pairs, added.split.output);
      }
    }
    return all;
  }();
  return *splittings;
}

// No part is empty, characters are UTF-8, and each pair is two parts.
void CheckSplitting(const Splitting& splitting, const Column& texts) {
  const std::function<std::string(int64_t)> where = [](int64_t) { return "record 0 of f"; };
  Table in{.rows = 2}, parts{.rows = 2}, pairs{.rows = 2};
  in.columns.push_back({.type = {"b", proto::STRING, {}}});
  for (int64_t row = 0; row < 2; ++row) in.columns[0].AppendView(texts.string(row));
  for (const ColumnType& type : splitting.split.output) parts.columns.push_back({.type = type});
  for (const ColumnType& type : splitting.ngrams.output) pairs.columns.push_back({.type = type});
  RowTransform::Apply split = splitting.split.apply, ngrams = splitting.ngrams.apply;
  CHECK(split({in, {}, where}, &parts).ok());
  const Column& column = parts.column("parts");
  CHECK_EQ(column.DimsOf(0)[0], column.DimsOf(1)[0]);
  for (size_t i = 0; i < column.strings.size(); ++i) {
    CHECK(!column.string(i).empty());
    if (splitting.by == proto::Split::CHARACTERS) CHECK(IsUtf8(column.string(i)));
  }
  CHECK(ngrams({parts, {}, where}, &pairs).ok());
  CHECK_EQ(pairs.column("pairs").DimsOf(1)[0], std::max<int64_t>(column.DimsOf(1)[0] - 1, 0));
}

}  // namespace

absl::Status FuzzExample(std::string_view bytes) {
  Table table;
  const absl::Status status = Parse(bytes, &table);
  if (status.ok()) {
    for (const Splitting& splitting : Splittings()) CheckSplitting(splitting, table.column("b"));
  }
  tensorflow::Example example;
  if (!example.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return status;
  example.DiscardUnknownFields();  // groups, which only protobuf knows
  const std::string canonical = example.SerializeAsString();
  if (Parse(canonical, &table).ok()) CheckSameValues(table, example);
  return status;
}

}  // namespace tpurun
