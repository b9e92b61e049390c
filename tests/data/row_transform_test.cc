// Row transforms that have a quick way beside a plain one: the values are those of protobuf and of
// arithmetic, whichever way is taken.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/images/encode.h"
#include "data/transforms/image_rows.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/config_errors.h"
#include "proto/example.pb.h"
#include "runtime/base/bfloat16.h"
#include "runtime/io/png.h"

namespace tpurun {
namespace {

RowTransform Bind(const std::string& text, const Schema& input) {
  proto::Transform transform;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &transform)) << text;
  ConfigErrors errors;
  return FindTransform(transform.kind_case())->bind(transform, input, errors).value();
}

Table EmptyTable(const Schema& schema, int64_t rows) {
  Table table{.rows = rows};
  for (const ColumnType& type : schema) table.columns.push_back({.type = type});
  return table;
}

const std::function<std::string(int64_t)> kPlace = [](int64_t row) {
  return absl::StrCat("row ", row);
};

// ---------------------------------------------------------------------------- parse_example

// Records of four features; entries come in any order, are left out, repeat, differ in size and in
// encoding, as those of different writers do.
class RandomRecords {
 public:
  struct Record {
    std::string bytes;
    tensorflow::Example example;  // what it says
  };

  Record Next() {
    Record record;
    std::vector<int> order = {0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random_);
    std::string features;
    for (const int index : order) {
      if (Below(16) == 0) continue;
      AppendEntry(index, &features, &record.example);
      if (Below(16) == 0) AppendEntry(index, &features, &record.example);  // the later one counts
    }
    record.bytes = absl::StrCat("\x0a", Varint(features.size()), features);
    return record;
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % bound); }

  static std::string Varint(uint64_t value) {
    std::string text;
    for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
    return text + static_cast<char>(value);
  }
  static std::string Field(char tag, const std::string& bytes) {
    return absl::StrCat(std::string(1, tag), Varint(bytes.size()), bytes);
  }

  void AppendEntry(int index, std::string* features, tensorflow::Example* example) {
    static const char* const kNames[] = {"text", "ints", "float", "other"};
    tensorflow::Feature& feature = (*example->mutable_features()->mutable_feature())[kNames[index]];
    feature.Clear();
    const std::string message = index == 0   ? Text(&feature)
                                : index == 1 ? Ints(&feature)
                                             : Float(&feature);
    const std::string entry = Field('\x0a', kNames[index]) + Field('\x12', message);
    *features += Field('\x0a', entry);
  }

  std::string Text(tensorflow::Feature* feature) {
    std::string value(Below(3) == 0 ? Below(300) : 200, '\0');
    for (char& byte : value) byte = static_cast<char>(random_());
    feature->mutable_bytes_list()->add_value(value);
    return Field('\x0a', Field('\x0a', value));
  }

  std::string Ints(tensorflow::Feature* feature) {
    const bool packed = Below(4) != 0;
    std::string list;
    for (int i = 0; i < 2; ++i) {
      const int64_t value = static_cast<int64_t>(random_()) >> (Below(4) * 20);
      feature->mutable_int64_list()->add_value(value);
      absl::StrAppend(&list, packed ? "" : "\x08", Varint(static_cast<uint64_t>(value)));
    }
    return Field('\x1a', packed ? Field('\x0a', list) : list);
  }

  std::string Float(tensorflow::Feature* feature) {
    const float value = static_cast<float>(Below(1000)) / 8;
    feature->mutable_float_list()->add_value(value);
    const std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    return Field('\x12', Below(4) == 0 ? absl::StrCat("\x0d", bytes) : Field('\x0a', bytes));
  }

  std::mt19937_64 random_{1};
};

TEST(ParseExample, GivesWhatTheRecordSaysWhateverCameBefore) {
  const RowTransform parse = Bind(R"(parse_example {
    feature { name: "text" bytes {} }
    feature { name: "float" float { default_value: 7 } }
    feature { name: "ints" int64 { shape: 2 } }
  })",
                                  {{"record", proto::STRING, {}}});
  RandomRecords records;
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    const RandomRecords::Record record = records.Next();
    SCOPED_TRACE(absl::StrCat("record ", i));
    Table in = EmptyTable({{"record", proto::STRING, {}}}, 1);
    in.columns[0].AppendView(record.bytes);
    Table out = EmptyTable(parse.output, 1);
    const absl::Status status = parse.apply({in, {}, kPlace}, &out);
    const auto& features = record.example.features().feature();
    if (!features.contains("text") || !features.contains("ints")) {
      const std::string missing = features.contains("text") ? "ints" : "text";
      EXPECT_EQ(status.message(), absl::StrCat("row 0: feature \"", missing,
                                               "\" is missing and has no default_value"));
      continue;
    }
    ASSERT_TRUE(status.ok()) << status;
    ++parsed;
    ASSERT_EQ(out.column("text").strings.size(), 1);
    EXPECT_EQ(out.column("text").string(0), features.at("text").bytes_list().value(0));
    EXPECT_EQ(out.column("float").values<float>()[0],
              features.contains("float") ? features.at("float").float_list().value(0) : 7);
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(out.column("ints").values<int64_t>()[k], features.at("ints").int64_list().value(k));
    }
  }
  EXPECT_GT(parsed, 10000);
}

// A record that was cut anywhere, or has another byte at a place, is refused or gives what it says:
// never what the record before it said.
TEST(ParseExample, ADamagedRecordIsNotTakenForTheOneBefore) {
  const RowTransform parse = Bind(R"(parse_example {
    feature { name: "a" int64 {} } feature { name: "b" bytes {} } })",
                                  {{"record", proto::STRING, {}}});
  const std::string good = absl::StrCat("\x0a\x18", "\x0a\x0a\x0a\x01", "a\x12\x05\x1a\x03\x0a\x01",
                                        "\x07", "\x0a\x0a\x0a\x01", "b\x12\x05\x0a\x03\x0a\x01x");
  const auto parse_record = [&](const std::string& record, Table* out) {
    Table in = EmptyTable({{"record", proto::STRING, {}}}, 1);
    in.columns[0].AppendView(record);
    *out = EmptyTable(parse.output, 1);
    return parse.apply({in, {}, kPlace}, out);
  };
  for (size_t place = 0; place < good.size(); ++place) {
    for (int bit = 0; bit < 9; ++bit) {
      std::string bad = good;
      if (bit < 8) {
        bad[place] = static_cast<char>(bad[place] ^ (1 << bit));
      } else {
        bad.resize(place);
      }
      SCOPED_TRACE(absl::StrCat("byte ", place, " bit ", bit));
      Table out;
      ASSERT_TRUE(parse_record(good, &out).ok());
      if (!parse_record(bad, &out).ok()) continue;
      tensorflow::Example example;
      ASSERT_TRUE(example.ParseFromString(bad));
      const auto& features = example.features().feature();
      EXPECT_EQ(out.column("a").values<int64_t>()[0], features.at("a").int64_list().value(0));
      EXPECT_EQ(out.column("b").string(0), features.at("b").bytes_list().value(0));
    }
  }
}

// ------------------------------------------------------------------------------------- cast

// The column that a cast of u8 values to `dtype` gives.
Column CastBytes(const std::vector<uint8_t>& bytes, const std::string& dtype,
                 const std::string& scaling) {
  const RowTransform cast =
      Bind(absl::StrCat("cast { feature: \"x\" dtype: ", dtype, " ", scaling, " }"),
           {{"x", proto::UINT8, {static_cast<int64_t>(bytes.size())}}});
  Table in = EmptyTable({{"x", proto::UINT8, {static_cast<int64_t>(bytes.size())}}}, 1);
  in.columns[0].bytes.Append(bytes.data(), bytes.size());
  Table out = EmptyTable(cast.output, 1);
  EXPECT_TRUE(cast.apply({in, {}, kPlace}, &out).ok());
  return out.column("x");
}

TEST(Cast, BytesAreScaledInF32AndThenRounded) {
  std::vector<uint8_t> bytes(256 + 37);  // not of whole vectors
  std::iota(bytes.begin(), bytes.end(), 0);
  const std::pair<float, float> scalings[] = {
      {0.00392156862745098f, -0.5f}, {1.0f / 3, 0.1f}, {-1e-40f, 0}, {3e36f, 1e38f}, {1, 0}};
  for (const auto& [scale, offset] : scalings) {
    const std::string scaling = absl::StrCat("scale: ", scale, " offset: ", offset);
    SCOPED_TRACE(scaling);
    proto::Cast read;  // the values that the text stands for
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(scaling, &read));
    const Column f32 = CastBytes(bytes, "FLOAT32", scaling);
    const Column bf16 = CastBytes(bytes, "BFLOAT16", scaling);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const float product = static_cast<float>(bytes[i]) * static_cast<float>(read.scale());
      const float want = product + static_cast<float>(read.offset());
      EXPECT_EQ(f32.values<float>()[i], want) << i;
      EXPECT_EQ(bf16.values<uint16_t>()[i], BFloat16Bits(want)) << i;
    }
  }
}

// ---------------------------------------------------------------------------------------- images

// Fills `out` with `transform` of all rows of `in`.
void Apply(const RowTransform& transform, const Table& in, std::span<const RowId> ids, Table* out) {
  RowTransform::Apply apply = transform.apply;
  EXPECT_TRUE(apply({in, ids, kPlace}, out).ok());
}

std::vector<std::byte> BytesOf(const Column& column) {
  return {column.bytes.data(), column.bytes.data() + column.bytes.size()};
}

TEST(DoBoth, ResizedImagesAreMirrored) {
  constexpr int64_t kRows = 16;
  std::vector<RowId> ids;
  for (int64_t row = 0; row < kRows; ++row) ids.push_back({.epoch = 0, .index = row});
  std::mt19937 random(1);
  for (const char* const method : {"BILINEAR", "BICUBIC", "AREA", "NEAREST_NEIGHBOR"}) {
    for (const int64_t channels : {1, 3, 4}) {
      SCOPED_TRACE(absl::StrCat(method, " of ", channels, " channels"));
      Table in = EmptyTable({{"image", proto::UINT8, {11, 13, channels}}}, kRows);
      in.columns[0].bytes.resize(kRows * 11 * 13 * channels);
      std::generate_n(in.columns[0].bytes.data(), in.columns[0].bytes.size(),
                      [&] { return static_cast<std::byte>(random()); });
      const RowTransform resize =
          Bind(absl::StrCat("resize { feature: 'image' size: [9, 7] method: ", method, " }"),
               {in.columns[0].type});
      RowTransform flip = Bind("random_flip_left_right { feature: 'image' }", resize.output);
      ASSERT_TRUE(flip.open({.seed = 3}, &flip).ok());
      Table apart = EmptyTable(resize.output, kRows);
      Apply(resize, in, ids, &apart);
      const Table resized = apart;
      Apply(flip, resized, ids, &apart);

      const std::optional<RowTransform> both = DoBoth(resize, flip);
      ASSERT_TRUE(both.has_value());
      EXPECT_TRUE(both->is_random);
      Table together = EmptyTable(both->output, kRows);
      Apply(*both, in, ids, &together);
      EXPECT_EQ(BytesOf(together.columns[0]), BytesOf(apart.columns[0]));
      // About half of the rows are mirrored.
      EXPECT_NE(BytesOf(together.columns[0]), BytesOf(resized.columns[0]));
    }
  }
  const RowTransform resize =
      Bind("resize { feature: 'a' size: 2 }",
           {{"a", proto::UINT8, {4, 4, 3}}, {"b", proto::UINT8, {2, 2, 3}}});
  for (const char* const other :
       {"random_flip_left_right { feature: 'b' }", "random_flip_up_down { feature: 'a' }"}) {
    RowTransform flip = Bind(other, resize.output);
    ASSERT_TRUE(flip.open({}, &flip).ok());
    EXPECT_FALSE(DoBoth(resize, flip).has_value()) << other;
  }
}

// A transform of an opened input.
RowTransform Open(const std::string& text, const Schema& input) {
  RowTransform bound = Bind(text, input);
  if (bound.open != nullptr) {
    EXPECT_TRUE(bound.open({.seed = 5}, &bound).ok());
  }
  return bound;
}

// What is joined stands where the first of them stood, among the columns there.
TEST(DoBoth, OtherColumnsAreThoseOfTheFirstPlace) {
  const Schema input = {{"image", proto::STRING, {}}, {"ids", proto::INT64, {kVaries}}};
  const RowTransform decode = Open("decode_image { feature: 'image' channels: 3 }", input);
  const RowTransform cast = Open("cast { feature: 'ids' dtype: INT32 }", decode.output);
  const RowTransform crop = Open("random_crop { feature: 'image' size: 8 }", cast.output);
  std::vector<RowTransform> transforms = {decode, cast};
  ASSERT_TRUE(JoinWithEarlier(crop, transforms));
  ASSERT_EQ(transforms.size(), 2u);
  const auto columns = [](const RowTransform& transform) {
    return absl::StrCat(transform.output[FindColumn(transform.output, "image")].ToString(), ", ",
                        transform.output[FindColumn(transform.output, "ids")].ToString());
  };
  EXPECT_EQ(columns(transforms[0]), "UINT8 [8,8,3], INT64 [?]");
  EXPECT_EQ(columns(transforms[1]), "UINT8 [8,8,3], INT32 [?]");
}

// Files of images of several sizes.
std::vector<std::string> EncodedImages() {
  std::mt19937 random(2);
  std::vector<std::string> files;
  for (const auto& [height, width] : {std::pair{40, 30}, {17, 65}, {31, 32}, {20, 20}, {1, 9}}) {
    std::vector<uint8_t> pixels(height * width * 3);
    std::generate(pixels.begin(), pixels.end(), std::ref(random));
    files.push_back(EncodeJpeg(pixels, {height, width, 3}, 90));
    files.push_back(EncodePng(pixels, height, width, 3).value());
  }
  return files;
}

Table TableOf(const std::vector<std::string>& files) {
  Table table =
      EmptyTable({{"file", proto::STRING, {}}, {"label", proto::INT64, {}}}, std::ssize(files));
  for (int64_t i = 0; i < std::ssize(files); ++i) {
    table.columns[0].AppendView(files[i]);
    table.columns[1].bytes.Append(&i, sizeof i);
  }
  return table;
}

// What a transform makes of `in`, with the columns that it passes on.
Table Made(const RowTransform& transform, Table in, std::span<const RowId> ids) {
  Table out = EmptyTable(transform.output, in.rows);
  const auto makes = [&](const std::string& name) {
    return std::find(transform.makes.begin(), transform.makes.end(), name) != transform.makes.end();
  };
  for (Column& column : in.columns) {
    if (makes(column.type.name) && transform.in_place)
      out.column(column.type.name).SwapValues(column);
  }
  Apply(transform, in, ids, &out);
  for (Column& column : in.columns) {
    if (!makes(column.type.name)) out.column(column.type.name).SwapValues(column);
  }
  return out;
}

// What the transforms make of `in` one after the other. Counts in *passes those that are left when
// they have been joined, and applies these to another copy, whose result is *joined.
Table ApplyAll(const std::vector<std::string>& texts, Table in, std::span<const RowId> ids,
               int* passes, Table* joined) {
  Schema schema;
  for (const Column& column : in.columns) schema.push_back(column.type);
  std::vector<RowTransform> transforms;
  *joined = in;
  for (const std::string& text : texts) {
    RowTransform next = Open(text, schema);
    schema = next.output;
    in = Made(next, std::move(in), ids);
    if (!JoinWithEarlier(next, transforms)) transforms.push_back(std::move(next));
  }
  *passes = static_cast<int>(transforms.size());
  for (const RowTransform& transform : transforms)
    *joined = Made(transform, std::move(*joined), ids);
  return in;
}

TEST(DoBoth, DecodedImagesAreCutResizedAndMirroredOnTheWay) {
  const std::vector<std::string> files = EncodedImages();
  std::vector<RowId> ids;
  for (int64_t i = 0; i < std::ssize(files); ++i) ids.push_back({.epoch = 1, .index = i});
  const char* const cuts[] = {
      "", "resize_with_crop_or_pad { feature: 'image' size: [24, 28] }",
      "central_crop { feature: 'image' size: 20 padding: 4 }",
      "sample_distorted_bounding_box { feature: 'image' area_range: [0.1, 1] max_attempts: 10 }"};
  for (const char* const cut : cuts) {
    for (const char* const method : {"BILINEAR", "BICUBIC", "AREA", "NEAREST_NEIGHBOR"}) {
      SCOPED_TRACE(absl::StrCat(cut, " ", method));
      std::vector<std::string> texts = {
          "decode_image { feature: 'file' output: 'image' channels: 3 }",
          "cast { feature: 'label' output: 'id' dtype: FLOAT32 offset: -1 }", cut,
          absl::StrCat("resize { feature: 'image' size: [21, 26] method: ", method, " }"),
          "random_flip_left_right { feature: 'image' }"};
      std::erase(texts, "");
      int passes = 0;
      Table joined;
      const Table apart = ApplyAll(texts, TableOf(files), ids, &passes, &joined);
      // The cast is one; these two methods resize by rows.
      EXPECT_EQ(passes, absl::StartsWith(method, "BI") ? 2 : 3);
      for (const char* const column : {"image", "id"})
        EXPECT_EQ(BytesOf(joined.column(column)), BytesOf(apart.column(column)));
    }
  }
}

TEST(DoBoth, ADamagedImageIsNamed) {
  std::vector<std::string> files = EncodedImages();
  files[2].resize(files[2].size() / 2);
  const Table in = TableOf(files);
  const RowTransform decode = Open("decode_image { feature: 'file' output: 'image' }",
                                   {in.columns[0].type, in.columns[1].type});
  const std::optional<RowTransform> both =
      DoBoth(decode, Open("resize { feature: 'image' size: 4 }", decode.output));
  ASSERT_TRUE(both.has_value());
  RowTransform::Apply apply = both->apply;
  Table out = EmptyTable(both->output, in.rows);
  EXPECT_EQ(apply({in, {}, kPlace}, &out),
            absl::DataLossError("row 2: feature \"file\": a JPEG whose last bytes are missing"));
}

// ------------------------------------------------------------------------------ split and ngrams

absl::Status SplitText(const RowTransform& split, const std::string& text, Table* out) {
  Table in{.rows = 1};
  in.columns.push_back({.type = {"text", proto::STRING, {}}});
  in.columns[0].AppendView(text);
  *out = EmptyTable(split.output, 1);
  RowTransform::Apply apply = split.apply;
  return apply({in, {}, kPlace}, out);
}

TEST(SplitTest, ATextThatWouldTakeMoreMemoryThanAnImageIsRefused) {
  const RowTransform split =
      Bind("split { feature: 'text' by: BYTES }", {{"text", proto::STRING, {}}});
  Table out;
  const int64_t most = 8 << 20;
  ASSERT_TRUE(SplitText(split, std::string(most, 'x'), &out).ok());
  EXPECT_EQ(out.column("text").DimsOf(0)[0], most);
  EXPECT_EQ(SplitText(split, std::string(most + 1, 'x'), &out),
            absl::DataLossError(
                "row 0: split: feature \"text\" has 8388609 bytes, want at most 8388608"));
}

TEST(NgramsTest, RunsThatWouldTakeMoreMemoryThanAnImageAreRefused) {
  const RowTransform split = Bind("split { feature: 'text' }", {{"text", proto::STRING, {}}});
  const RowTransform ngrams = Bind("ngrams { feature: 'text' width: [50, 51, 52] }", split.output);
  std::string text;
  for (int i = 0; i < 600000; ++i) text += "ab ";  // 1.8 million runs of 150 bytes
  Table words;
  ASSERT_TRUE(SplitText(split, text, &words).ok());
  Table out = EmptyTable(ngrams.output, 1);
  RowTransform::Apply apply = ngrams.apply;
  const absl::Status refused = apply({words, {}, kPlace}, &out);
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(absl::StartsWith(refused.message(), "row 0: ngrams: those of feature \"text\" take "))
      << refused;
  EXPECT_EQ(out.column("text").strings.size(), 0);
}

}  // namespace
}  // namespace tpurun
