// Writes testdata/fuzz again, but for what was found by fuzzing: bazel run //tests/fuzz:make_seeds.
// What must be OK begins with "good_".
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "data/images/encode.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "proto/event.pb.h"
#include "proto/example.pb.h"
#include "proto/hparams.pb.h"
#include "proto/saved_model.pb.h"
#include "proto/tensor_bundle.pb.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/file.h"
#include "runtime/io/png.h"
#include "runtime/io/record_writer.h"
#include "runtime/io/table.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/io/zlib_stream.h"

namespace tpurun {
namespace {

namespace fs = std::filesystem;

fs::path folder;  // testdata/fuzz

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Write(const std::string& target, const std::string& name, std::string_view bytes) {
  fs::create_directories(folder / target);
  std::ofstream(folder / target / name, std::ios::binary) << bytes;
}

std::string Byte(int value) { return std::string(1, static_cast<char>(value)); }

// -------------------------------------------------------------------------------------- events

// As events.cc reads them.
std::string Framed(const tensorflow::Event& event) {
  const std::string bytes = event.SerializeAsString();
  return Byte(static_cast<int>(bytes.size() % 256)) + Byte(static_cast<int>(bytes.size() / 256)) +
         bytes;
}

std::string Version() {
  tensorflow::Event event;
  event.set_file_version("brain.Event:2");
  return Framed(event);
}

std::string SessionStart(int64_t step) {
  tensorflow::Event event;
  event.set_step(step);
  event.mutable_session_log()->set_status(tensorflow::SessionLog::START);
  return Framed(event);
}

// An event with one value, whose plugin may be "".
std::string OfValue(int64_t step, const std::string& plugin,
                    const tensorflow::Summary::Value& value) {
  tensorflow::Event event;
  event.set_wall_time(1.7e9 + static_cast<double>(step));
  event.set_step(step);
  tensorflow::Summary::Value& added = *event.mutable_summary()->add_value() = value;
  added.set_tag(value.tag().empty() ? "tag/" + plugin : value.tag());
  if (!plugin.empty()) {
    added.mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
  }
  return Framed(event);
}

std::string OfScalar(int64_t step, float scalar) {
  tensorflow::Summary::Value value;
  value.set_simple_value(scalar);
  return OfValue(step, "", value);
}

std::string OfTensor(const std::string& plugin, const std::vector<std::string>& strings,
                     const std::vector<float>& floats) {
  tensorflow::Summary::Value value;
  tensorflow::TensorProto& tensor = *value.mutable_tensor();
  tensor.set_dtype(strings.empty() ? tensorflow::DT_FLOAT : tensorflow::DT_STRING);
  for (const std::string& string : strings) tensor.add_string_val(string);
  for (const float number : floats) tensor.add_float_val(number);
  if (strings.size() > 1) {
    tensor.mutable_tensor_shape()->add_dim()->set_size(static_cast<int64_t>(strings.size()) / 2);
    tensor.mutable_tensor_shape()->add_dim()->set_size(2);
  }
  return OfValue(3, plugin, value);
}

std::string OfHParams() {
  tensorboard::hparams::HParamsPluginData data;
  auto& hparams = *data.mutable_session_start_info()->mutable_hparams();
  hparams["rate"].set_number_value(0.5);
  tensorflow::Summary::Value value;
  value.set_tag("_hparams_/session_start_info");
  value.mutable_metadata()->mutable_plugin_data()->set_content(data.SerializeAsString());
  return OfValue(0, "hparams", value);
}

std::string OfHistogram() {
  tensorflow::Summary::Value value;
  tensorflow::HistogramProto& histogram = *value.mutable_histo();
  histogram.set_min(-1);
  histogram.set_max(2);
  for (const double limit : {-0.5, 0.5, 1e308}) histogram.add_bucket_limit(limit);
  for (const double count : {1, 0, 2}) histogram.add_bucket(count);
  return OfValue(3, "", value);
}

std::string OfImage() {
  tensorflow::Summary::Value value;
  value.mutable_image()->set_encoded_image_string("\x89PNG");
  return OfValue(3, "", value);
}

void MakeEvents() {
  const std::string scalars = OfScalar(1, 0.5f) + OfScalar(2, 1e30f) + OfScalar(3, 0.25f);
  Write("events", "good_scalars", Version() + scalars);
  Write("events", "good_restart",
        Version() + SessionStart(0) + scalars + SessionStart(2) + OfScalar(2, 7));
  Write("events", "good_tensors",
        Version() + OfTensor("scalars", {}, {1.5f}) + OfTensor("histograms", {}, {0, 1, 2}) +
            OfTensor("images", {"1", "1", "GIF8"}, {}) + OfTensor("text", {"<b>", "x"}, {}));
  Write("events", "good_others", Version() + OfHParams() + OfHistogram() + OfImage());
  Write("events", "no_event", Version() + Byte(2) + Byte(0) + "\x0a\x05");
}

// ---------------------------------------------------------------------------------- tf.Example

void MakeExamples() {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["b"].mutable_bytes_list()->add_value("bytes");
  for (const float value : {1.5f, -2.0f, 3e38f}) {
    features["f"].mutable_float_list()->add_value(value);
  }
  features["i"].mutable_int64_list()->add_value(-1);
  features["i"].mutable_int64_list()->add_value(300);
  Write("example", "good_required", example.SerializeAsString());
  features["d"].mutable_bytes_list()->add_value("");
  features["g"].mutable_float_list()->add_value(0);
  features["j"].mutable_int64_list()->add_value(int64_t{1} << 62);
  features["unread"].mutable_bytes_list()->add_value("u");
  Write("example", "good_all", example.SerializeAsString());
  tensorflow::Example text = example;
  *(*text.mutable_features()->mutable_feature())["b"].mutable_bytes_list()->mutable_value(0) =
      "It's \xc3\x84rger, \xf0\x9f\x99\x82!\n\tNO\xcc\x81 \xff\xe2\x82 \xed\xa0\x80 end\xc3";
  Write("example", "good_text", text.SerializeAsString());
  // Numbers that are not packed.
  const std::string unpacked("\x0a\x0b\x0a\x09\x0a\x01j\x12\x04\x1a\x02\x08\x05");
  Write("example", "good_unpacked", example.SerializeAsString() + unpacked);
  Write("example", "missing", unpacked);
  features["f"].mutable_float_list()->add_value(4);
  Write("example", "too_many_values", example.SerializeAsString());
  features["f"].mutable_int64_list()->add_value(4);
  Write("example", "wrong_kind", example.SerializeAsString());
}

// --------------------------------------------------------------------------------------- image

// Behind the byte that chooses the options.
void MakeImages() {
  constexpr int64_t kSide = 19;
  std::vector<uint8_t> rgb, grey;
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    grey.push_back(static_cast<uint8_t>(i * i % 251));
    for (int64_t c = 1; c <= 3; ++c) rgb.push_back(static_cast<uint8_t>(i * (i + c) % 253));
  }
  const std::string jpeg = EncodeJpeg(rgb, {kSide, kSide, 3}, 80);
  const absl::StatusOr<std::string> png = EncodePng(rgb, kSide, kSide, 3);
  CHECK(png.ok()) << png.status();
  Write("image", "good_jpeg", Byte(0) + jpeg);
  Write("image", "good_jpeg_as_grey_half", Byte(1 + 4 * 2 + 16) + jpeg);
  Write("image", "good_grey_jpeg", Byte(2) + EncodeJpeg(grey, {kSide, kSide, 1}, 60));
  Write("image", "good_png", Byte(3) + *png);
  Write("image", "truncated_jpeg", Byte(0) + jpeg.substr(0, jpeg.size() * 2 / 3));
  Write("image", "truncated_png", Byte(0) + png->substr(0, png->size() / 2));
  Write("image", "gif", Byte(0) + "GIF89a");
}

// ----------------------------------------------------------------------------------------- tar

// A header whose sum FuzzTar makes right, and padded data.
std::string TarFile(const std::string& name, char type, const std::string& data) {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  const std::string size = absl::StrFormat("%011o", data.size());
  block.replace(124, size.size(), size);
  block[156] = type;
  block.replace(257, 5, "ustar");
  block += data;
  block.resize((block.size() + 511) / 512 * 512);
  return block;
}

void MakeTars() {
  const std::string end(1024, '\0');
  const std::string file = TarFile("n01440764/a.JPEG", '0', "abc");
  Write("tar", "good_files", Byte(1) + TarFile("n01440764/", '5', "") + file + file + end);
  Write("tar", "good_pax", Byte(1) + TarFile("x", 'x', "14 path=a b/c\n10 size=3\n") + file + end);
  Write("tar", "good_long_name",
        Byte(1) + TarFile("L", 'L', std::string(200, 'n')) + file + TarFile("g", 'g', "") + end);
  Write("tar", "good_empty", Byte(0) + end);
  Write("tar", "wrong_sum", Byte(0) + file + end);
  Write("tar", "no_end_mark", Byte(1) + file);
  Write("tar", "truncated", Byte(1) + file.substr(0, 514));
  Write("tar", "sparse", Byte(1) + TarFile("a", 'S', "abc") + end);
  Write("tar", "pax_length", Byte(1) + TarFile("x", 'x', "99 path=a\n") + file + end);
}

// ------------------------------------------------------------------------------------ TFRecord

std::string Records(Compression compression) {
  std::string bytes;
  std::unique_ptr<ByteSink> sink = std::make_unique<StringSink>(&bytes);
  if (compression != Compression::kNone) {
    sink = std::make_unique<ZlibSink>(std::move(sink), compression, "f");
  }
  RecordWriter writer(std::move(sink));
  for (const char* record : {"one", "", "the third"}) CHECK(writer.Write(record).ok());
  CHECK(writer.Close().ok());
  return bytes;
}

void MakeRecords() {
  const std::string plain = Records(Compression::kNone);
  Write("tfrecord", "good_plain", Byte(0) + plain);
  Write("tfrecord", "good_skipping", Byte(0x28) + plain);
  Write("tfrecord", "good_gzip", Byte(1) + Records(Compression::kGzip));
  Write("tfrecord", "good_gzip_members",
        Byte(1) + Records(Compression::kGzip) + Records(Compression::kGzip));
  Write("tfrecord", "good_zlib", Byte(2) + Records(Compression::kZlib));
  Write("tfrecord", "good_repaired", Byte(4) + plain);
  Write("tfrecord", "wrong_compression", Byte(2) + Records(Compression::kGzip));
  Write("tfrecord", "truncated", Byte(4) + plain.substr(0, plain.size() - 1));
  Write("tfrecord", "length_2_to_62",
        Byte(4) + std::string("\0\0\0\0\0\0\0\x40\0\0\0\0", 12) + plain);
}

// ----------------------------------------------------------------------------------------- CSV

void MakeCsv() {
  Write("csv", "good_plain", Byte(0) + "1.5,2,3,a\n-1e-3,-9223372036854775808,255,\n");
  Write("csv", "good_quotes", Byte(0) + "\"1\",\"2\",,\"a, \"\"b\"\"\"\r\n,4,,\n");
  Write("csv", "good_header", Byte(1) + "x,n,i,s\nNA,2,3,NA\n5,6,7,8");
  Write("csv", "good_tabs",
        Byte(2) + "1\t2\t3\t\"a\n1\t2\t3\tb\n1\t2\t3\tc\n1\t2\t3\td\n1\t2\t3\te\n");
  Write("csv", "few_columns", Byte(0) + "1,2,3,a\n1,2\n");
  Write("csv", "open_quote", Byte(0) + "1,2,3,\"a\n");
  Write("csv", "not_a_number", Byte(0) + "1,two,3,a\n");
  Write("csv", "does_not_fit", Byte(0) + "1,2,256,a\n");
  Write("csv", "empty", Byte(1) + "x,n,i,s\n");
}

// ---------------------------------------------------------------------------------------- JSON

void MakeJson() {
  Write("json", "good_plain", "{\"n\": 1}\n{\"x\": 1.5, \"n\": -2, \"s\": \"caf\\u00e9\"}\n");
  Write("json", "good_nested",
        "{\"a/b\": [1, 2.5], \"n\": true, \"v\": [[1, 2], [3, null]], \"o\": {\"x\": []}}\n");
  Write("json", "good_null", "{\"x\": null, \"n\": 9223372036854775807, \"s\": null}");
  Write("json", "no_member", "{\"x\": 1}\n");
  Write("json", "twice", "{\"n\": 1, \"n\": 2}\n");
  Write("json", "huge", "{\"n\": 1, \"x\": 1e400}\n");
  Write("json", "deep", "{\"n\": 1, \"o\": " + std::string(3000, '[') + "\n");
  Write("json", "not_utf8", "{\"n\": 1, \"s\": \"\xff\xfe\"}\n");
  Write("json", "cut", "{\"n\": 1, \"s\": \"a");
  Write("json", "empty", "");
}

// ---------------------------------------------------------------------------------------- init

void MakeInit() {
  std::string words = "age,job,city,more\n", numbers = "12,1,a,b,c\n", pixels;
  for (int i = 0; i < 12; ++i) {
    const std::string number = std::to_string(i * i % 7);
    words += i == 3 ? "NA," : number + ",";
    words += i % 2 == 0 ? "\"a, b\"," : "\"c\"\"d\",";
    words += "city " + number + (i % 3 == 0 ? ",x\n" : ",y\n");
    numbers += number + ".5," + std::to_string(i % 3) + "\n";
    for (int pixel = 0; pixel < 17; ++pixel) {
      pixels += std::to_string((i + pixel) * pixel % 16) + ";";
    }
    pixels += std::to_string(i % 2) + "\n";
  }
  Write("init", "good_words", Byte(0) + words);
  Write("init", "good_first", Byte(1) + numbers);
  Write("init", "good_numbers", Byte(0) + numbers);
  Write("init", "good_pixels", Byte(0) + pixels);
  std::string formatted = "day;price;share;y\n", json;
  for (int i = 0; i < 24; ++i) {
    const std::string number = std::to_string(i * i % 7 + 1);
    formatted += number + ".03.2024;1." + number + "00,50 EUR;" + number + "0%;" + number + "\n";
    json += "{\"day\": \"2024-03-0" + number + "\", \"v\": [" + number + ", 2], ";
    if (i % 5 != 1) json += "\"u\": {\"x\": " + number + ".5}, ";
    json += "\"y\": " + number + "}\n";
  }
  Write("init", "good_formatted", Byte(0) + formatted);
  Write("init", "good_json", Byte(2) + json);
  Write("init", "cut_json", Byte(2) + json + "{");
  Write("init", "missing_label", Byte(1) + words);
  Write("init", "one_class", Byte(0) + words.substr(0, words.find('\n')) + words.substr(0, 40));
  Write("init", "ragged", Byte(0) + words + "1,2\n");
  Write("init", "empty", Byte(0));
}

// ------------------------------------------------------------------------------- configuration

void MakeConfigs() {
  const fs::path testdata = folder.parent_path();
  for (const char* example : {"iris", "digits"}) {
    const fs::path files = testdata / example;
    std::string run, model;
    // Without comments, which say nothing to a fuzzer.
    for (auto [name, text] :
         {std::pair("run.textproto", &run), std::pair("model.textproto", &model)}) {
      std::ifstream file(files / name);
      CHECK(file.is_open()) << files / name;
      for (std::string line; std::getline(file, line);) {
        line.erase(std::min(line.find('#'), line.size()));
        line.erase(line.find_last_not_of(' ') + 1);
        if (!line.empty()) *text += line + "\n";
      }
    }
    Write("config", std::string("good_") + example, run + "---\n" + model);
  }
  Write("config", "unknown_field", "train_batch_sise: 64\n");
  Write("config", "open_string", "model_dir: \"a\n");
  Write("config", "apply_itself",
        "transformation_func { name: \"f\" transform { apply { transformation_func: \"f\" } } }\n"
        "train { input { source { text_line { file: \"f\" } }\n"
        "  transform { apply { transformation_func: \"f\" } } } }\n");
  Write("config", "large_shape",
        "model { feature { name: \"x\" dtype: FLOAT32 shape: [1048576, 1048576, 1048576] } }\n");
}

// ---------------------------------------------------------------------------------- checkpoint

std::string Entry(const std::string& key, const std::string& value) {
  CHECK(key.size() < 256 && value.size() < 256) << key;
  return Byte(static_cast<int>(key.size())) + Byte(static_cast<int>(value.size())) + key + value;
}

void MakeCheckpoints() {
  const std::string prefix = (fs::temp_directory_path() / "tpurun_make_seeds").string();
  absl::StatusOr<std::unique_ptr<BundleWriter>> writer = BundleWriter::Create(prefix);
  CHECK(writer.ok()) << writer.status();
  const std::vector<std::string> strings = {"", "two"};
  CHECK((*writer)->Add("bias", tensorflow::DT_FLOAT, {2}, "12345678").ok());
  CHECK((*writer)->Add("global_step", tensorflow::DT_INT64, {}, "12345678").ok());
  CHECK((*writer)->AddStrings("names", {2}, strings).ok());
  CHECK((*writer)->Finish().ok());
  const std::string data = Read(BundleDataPath(prefix, 0, 1));
  const std::string index = Read(BundleIndexPath(prefix));
  fs::remove(BundleDataPath(prefix, 0, 1));
  fs::remove(BundleIndexPath(prefix));
  const std::string begin = Byte(static_cast<int>(data.size())) + data;
  Write("checkpoint", "good_index", begin + Byte(1) + index);
  Write("checkpoint", "good_repaired", begin + Byte(0) + index);
  Write("checkpoint", "truncated", begin + Byte(1) + index.substr(1));
  Write("checkpoint", "no_data", Byte(0) + Byte(1) + index);
  const absl::StatusOr<TableEntries> entries = ReadTable(index, "index");
  CHECK(entries.ok()) << entries.status();
  std::string listed;
  for (const auto& [key, value] : *entries) listed += Entry(key, value);
  Write("checkpoint", "good_entries", begin + Byte(2) + listed);

  // A variable of 2 x 4 bytes in two slices of columns.
  tensorflow::BundleEntryProto whole, part;
  whole.set_dtype(tensorflow::DT_UINT8);
  part.set_dtype(tensorflow::DT_UINT8);
  for (const int size : {2, 4}) whole.mutable_shape()->add_dim()->set_size(size);
  for (const int size : {2, 2}) part.mutable_shape()->add_dim()->set_size(size);
  part.set_size(4);
  part.set_crc32c(crc32c::MaskedValue("abcd"));
  std::string parts;
  for (const int64_t start : {0, 2}) {
    auto* const slice = whole.add_slices();
    slice->add_extent();
    auto* const extent = slice->add_extent();
    extent->set_start(start);
    extent->set_length(2);
    parts += Entry(SliceKey("v", {{0, -1}, {start, 2}}), part.SerializeAsString());
  }
  const std::string header = Entry("", entries->front().second);
  Write("checkpoint", "good_slices",
        Byte(4) + "abcd" + Byte(2) + header + parts + Entry("v", whole.SerializeAsString()));
  Write("checkpoint", "slice_missing",
        Byte(4) + "abcd" + Byte(2) + header + Entry("v", whole.SerializeAsString()));
}

// ---------------------------------------------------------------------------- interleave, position

void MakeOrders() {
  Write("interleave", "good_three_files",
        Byte(1) + Byte(1) + Byte(0) + Byte(5) + Byte(2) + Byte(9));
  Write("interleave", "good_shuffled", Byte(3) + Byte(0) + Byte(1) + std::string(12, 7));
  Write("interleave", "an_empty_file", Byte(1) + Byte(1) + Byte(0) + Byte(5) + Byte(0) + Byte(9));
  Write("position", "good_shuffle", Byte(0) + " shuffle 0 2");
  Write("position", "good_repeat", Byte(2) + " repeat 0 1 2 shuffle 1 2");
  Write("position", "good_repeat_shuffle",
        Byte(4) + " shuffle 0 8 1 3 4 1 5 1 3 1 repeat 0 1 4 records 1 4");
  Write("position", "good_sample",
        Byte(10) +
            " records 0 4 sample 0 0 repeat 0 0 3 shuffle 0 3 "
            "records 0 1");
  Write("position", "good_buckets", Byte(16) + " buckets 0 8 2 1 1 4 0 repeat 0 1 3 shuffle 1 3");
  Write("position", "good_buckets_of_a_pass", Byte(18) + " repeat 0 1 2 buckets 1 2");
  Write("position", "a_bucket_too_few_words",
        Byte(16) + " buckets 0 8 3 1 1 4 0 repeat 0 1 3 shuffle 1 3");
  Write("position", "a_word_too_few", Byte(0) + " shuffle 0");
  Write("position", "beyond_the_end", Byte(6) + " select 3 repeat 0 0 3 select 3 records 0 99");
}

// ------------------------------------------------------------------------------------ saved_model

// The graph of a golden file of check_saved_model, in text format.
std::string GraphText(const std::string& name) {
  const std::string text = Read("testdata/check_saved_model/" + name + ".txt");
  return text.substr(0, text.find("---\n"));
}

template <typename Message>
std::string BytesOf(const std::string& name) {
  Message message;
  CHECK(google::protobuf::TextFormat::ParseFromString(GraphText(name), &message)) << name;
  return message.SerializeAsString();
}

void MakeSavedModels() {
  Write("saved_model", "good_signatures", Byte(0) + BytesOf<tensorflow::SavedModel>("signatures"));
  Write("saved_model", "good_no_signature",
        Byte(0) + BytesOf<tensorflow::SavedModel>("no_signature"));
  for (const char* const name : {"constants", "loop", "recursion", "tensorflow_1", "verdicts"}) {
    Write("saved_model", std::string("good_") + name,
          Byte(1) + BytesOf<tensorflow::GraphDef>(name));
  }
  Write("saved_model", "good_text", Byte(2) + GraphText("loop"));
  Write("saved_model", "a_missing_input", Byte(1) + BytesOf<tensorflow::GraphDef>("damaged_input"));
  Write("saved_model", "a_missing_function", Byte(2) + GraphText("damaged_call"));
}

}  // namespace
}  // namespace tpurun

int main() {
  const char* const checkout = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  CHECK(checkout != nullptr) << "use bazel run";
  tpurun::folder = std::filesystem::path(checkout) / "testdata/fuzz";
  tpurun::MakeCheckpoints();
  tpurun::MakeConfigs();
  tpurun::MakeCsv();
  tpurun::MakeJson();
  tpurun::MakeInit();
  tpurun::MakeEvents();
  tpurun::MakeExamples();
  tpurun::MakeImages();
  tpurun::MakeOrders();
  tpurun::MakeRecords();
  tpurun::MakeSavedModels();
  tpurun::MakeTars();
}
