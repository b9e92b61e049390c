// Images a second from a TFRecord file of JPEGs in the page cache: decoded in a random window,
// resized to 224 x 224 and mirrored, by a pipeline with 1 and with 2 threads; and by libjpeg-turbo
// and the resizing alone, of the same windows. read_images.py beside it measures tf.data.
//
//   IMAGES=FILE read_images      FILE: of `convert images` or `convert synthetic --encode=JPEG`
#include <glog/logging.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "data/images/decode.h"
#include "data/images/resize.h"
#include "data/transforms/transform_list.h"
#include "google/protobuf/text_format.h"
#include "proto/example.pb.h"
#include "runtime/io/record_reader.h"
#include "tests/data/run_input.h"

namespace tpurun {
namespace {

constexpr int64_t kBatchSize = 64;
constexpr int64_t kSize = 224;

std::string ImagesFile() {
  const char* const file = std::getenv("IMAGES");
  CHECK(file != nullptr) << "IMAGES=FILE must name a TFRecord file of JPEGs";
  return file;
}

const std::vector<std::string>& Images() {
  static const auto* const kImages = [] {
    auto* const images = new std::vector<std::string>;
    const auto reader = RecordReader::Open(ImagesFile());
    CHECK(reader.ok()) << reader.status();
    std::string record;
    while (*(*reader)->Read(&record)) {
      tensorflow::Example example;
      CHECK(example.ParseFromString(record));
      images->push_back(example.features().feature().at("image/encoded").bytes_list().value(0));
    }
    return images;
  }();
  return *kImages;
}

constexpr char kSample[] = R"(sample_distorted_bounding_box {
  feature: "image" area_range: [0.08, 1] aspect_ratio_range: [0.75, 1.3333] max_attempts: 10 })";

// The windows that the pipeline draws.
std::vector<ImageWindow> Windows() {
  proto::Transform transform;
  CHECK(google::protobuf::TextFormat::ParseFromString(kSample, &transform));
  ConfigErrors errors;
  RowTransform row = FindTransform(transform.kind_case())
                         ->bind(transform, {{"image", proto::UINT8, {kVaries, kVaries, 3}}}, errors)
                         .value();
  CHECK(row.open({.seed = 1}, &row).ok());
  std::vector<RowId> ids;
  for (size_t i = 0; i < Images().size(); ++i) ids.push_back({0, static_cast<int64_t>(i)});
  const Table no_columns;
  const std::function<std::string(int64_t)> where;
  std::vector<ImageWindow> windows;
  for (size_t i = 0; i < Images().size(); ++i) {
    const ImageSize size = EncodedImage::Open(Images()[i], {}).value()->size();
    windows.push_back(row.choose_window(size, {no_columns, ids, where}, i).value());
  }
  return windows;
}

void LibraryAlone(benchmark::State& state) {
  Resizer resizer(proto::Resize::BILINEAR, true, kSize, kSize);
  std::vector<uint8_t> pixels;
  std::vector<float> resized(kSize * kSize * 3);
  const std::vector<ImageWindow> windows = Windows();
  for (auto _ : state) {
    for (size_t i = 0; i < Images().size(); ++i) {
      const auto image = EncodedImage::Open(Images()[i], {.channels = 3}).value();
      const ImageWindow& window = windows[i];
      pixels.resize(window.height * window.width * 3);
      CHECK(image->Decode(window, window.width * 3, pixels.data()).ok());
      resizer.Resize(pixels.data(), {window.height, window.width, 3}, resized.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(Images()));
}
BENCHMARK(LibraryAlone)->Unit(benchmark::kMillisecond)->UseRealTime();

void ResizeAlone(benchmark::State& state) {
  Resizer resizer(static_cast<proto::Resize::Method>(state.range(0)), true, kSize, kSize);
  const std::vector<uint8_t> pixels(330 * 330 * 3, 17);
  std::vector<float> resized(kSize * kSize * 3);
  for (auto _ : state) resizer.Resize(pixels.data(), {330, 330, 3}, resized.data());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ResizeAlone)->Arg(proto::Resize::BILINEAR)->Arg(proto::Resize::BICUBIC);

void Pipeline(benchmark::State& state) {
  const std::string config = absl::StrCat(R"(train { input {
      source { tfrecord { file: ")",
                                          ImagesFile(), R"(" } }
      transform { parse_example { feature { name: "image/encoded" bytes {} } } }
      transform { decode_image { feature: "image/encoded" output: "image" channels: 3 } }
      transform { )",
                                          kSample, R"( }
      transform { resize { feature: "image" size: 224 } }
      transform { random_flip_left_right { feature: "image" } }
      transform { repeat {} }
      num_parallel_calls: )",
                                          state.range(0), " } }");
  const InputFnArgs args = {.mode = ModeKey::kEval,
                            .batch_size = kBatchSize,
                            .features = ParseFeatures("image f32[224,224,3]"),
                            .seed = 1};
  const InputFn input_fn = InputFnOf(config).value();
  std::vector<std::byte> buffer(kBatchSize * args.features[0].shape.bytes());
  std::byte* pointers[] = {buffer.data()};
  const InputSource source = input_fn(args).value();
  int64_t images = 0;
  for (auto _ : state) images += source.batches->Next(pointers).value();
  state.SetItemsProcessed(images);
}
BENCHMARK(Pipeline)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace tpurun

BENCHMARK_MAIN();
