// What is drawn instead of read: pictures and pairs of sentences.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/convert/convert.h"
#include "data/convert/encoded_example.h"
#include "data/convert/image_example.h"
#include "data/convert/pictures.h"
#include "data/convert/sentences.h"
#include "data/images/encode.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/png.h"

namespace tpurun {
namespace {

// Below, nobody can tell one picture from another; one of the largest has 12 MiB.
constexpr int64_t kMinSize = 16;
constexpr int64_t kMaxSize = 2048;

constexpr int64_t kMinSequence = 16;
constexpr int64_t kMaxSequence = 65536;
constexpr int64_t kMinVocabulary = 32;
constexpr int64_t kMaxVocabulary = 1 << 20;

struct Subject {
  std::string name;
  std::vector<std::string> flags;  // those that not every subject takes
  absl::Status (*check)(const ConvertArgs& args);
  std::function<absl::Status(const ConvertArgs& args, const ExampleSink& write)> write;
};

absl::Status CheckRange(const char* flag, int64_t value, int64_t least, int64_t most,
                        const char* unit = "") {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": got ", value, ", want ", least, " to ", most, unit));
}

// ------------------------------------------------------------------------------------- pictures

absl::Status CheckPictures(const ConvertArgs& args) {
  if (!args.encode.empty() && args.encode != "JPEG" && args.encode != "PNG") {
    return absl::InvalidArgumentError(
        absl::StrCat("--encode: got ", Quote(args.encode), ", want JPEG or PNG"));
  }
  if (args.masks && !args.encode.empty()) {
    return absl::InvalidArgumentError(
        "--masks is for records without --encode; leave out one of them");
  }
  return CheckRange("size", args.size.value_or(kMinSize), kMinSize, kMaxSize, " pixels");
}

absl::StatusOr<tensorflow::Example> EncodePicture(int64_t label, int64_t i, int64_t side,
                                                  const std::string& pixels,
                                                  const std::string& format) {
  constexpr int kQuality = 90;
  const std::span<const uint8_t> values(reinterpret_cast<const uint8_t*>(pixels.data()),
                                        pixels.size());
  const ImageSize size = {side, side, std::ssize(pixels) / (side * side)};
  EncodedExample image = {.format = format,
                          .filename = absl::StrCat(i, format == "JPEG" ? ".jpg" : ".png"),
                          .size = size,
                          .label = label,
                          .class_name = absl::StrCat(label)};
  if (format == "JPEG") {
    image.bytes = EncodeJpeg(values, size, kQuality);
  } else {
    ASSIGN_OR_RETURN(image.bytes, EncodePng(values, size.height, size.width, size.channels));
  }
  return ToExample(std::move(image));
}

absl::Status WritePictures(const PictureSubject& subject, const ConvertArgs& args,
                           const ExampleSink& write) {
  const uint64_t seed = static_cast<uint64_t>(args.seed);
  const int64_t size = args.size.value_or(subject.size);
  ImageExample example;
  for (int64_t i = 0; i < *args.examples; ++i) {
    const Picture picture = DrawPicture(subject, seed, i, size);
    example.set_label(picture.label);
    PaintPicture(picture, seed, i, &example.image());
    if (args.masks) example.set_mask(MaskOf(picture));
    if (args.encode.empty()) {
      RETURN_IF_ERROR(write(example.example()));
      continue;
    }
    ASSIGN_OR_RETURN(const tensorflow::Example encoded,
                     EncodePicture(picture.label, i, size, example.image(), args.encode));
    RETURN_IF_ERROR(write(encoded));
  }
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------ sentences

SentencePairSpec SpecOf(const ConvertArgs& args) {
  SentencePairSpec spec;
  spec.sequence_length = args.sequence_length.value_or(spec.sequence_length);
  spec.vocabulary_size = args.vocabulary_size.value_or(spec.vocabulary_size);
  spec.max_predictions = args.max_predictions.value_or(spec.max_predictions);
  return spec;
}

absl::Status CheckSentencePairs(const ConvertArgs& args) {
  const SentencePairSpec spec = SpecOf(args);
  RETURN_IF_ERROR(CheckRange("sequence_length", spec.sequence_length, kMinSequence, kMaxSequence));
  RETURN_IF_ERROR(
      CheckRange("vocabulary_size", spec.vocabulary_size, kMinVocabulary, kMaxVocabulary));
  return CheckRange("max_predictions_per_seq", spec.max_predictions, 1, kMaxSequence);
}

absl::Status WriteSentencePairs(const ConvertArgs& args, const ExampleSink& write) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  const auto set = [&](const char* name, const std::vector<int64_t>& values) {
    features[name].mutable_int64_list()->mutable_value()->Assign(values.begin(), values.end());
  };
  for (int64_t i = 0; i < *args.examples; ++i) {
    const SentencePair pair = DrawSentencePair(SpecOf(args), static_cast<uint64_t>(args.seed), i);
    set("input_ids", pair.input_ids);
    set("input_mask", pair.input_mask);
    set("segment_ids", pair.segment_ids);
    set("masked_lm_positions", pair.masked_lm_positions);
    set("masked_lm_ids", pair.masked_lm_ids);
    features["masked_lm_weights"].mutable_float_list()->mutable_value()->Assign(
        pair.masked_lm_weights.begin(), pair.masked_lm_weights.end());
    set("next_sentence_labels", {pair.next_sentence_label});
    RETURN_IF_ERROR(write(example));
  }
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------- subjects

const std::vector<Subject>& Subjects() {
  static const auto* const kSubjects = [] {
    auto* const subjects = new std::vector<Subject>;
    for (const PictureSubject& subject : PictureSubjects()) {
      subjects->push_back({.name = subject.name,
                           .flags = {"size", "encode", "masks"},
                           .check = CheckPictures,
                           .write = std::bind_front(WritePictures, std::cref(subject))});
    }
    subjects->push_back({.name = "sentence_pairs",
                         .flags = {"sequence_length", "vocabulary_size", "max_predictions_per_seq"},
                         .check = CheckSentencePairs,
                         .write = WriteSentencePairs});
    return subjects;
  }();
  return *kSubjects;
}

absl::StatusOr<const Subject*> FindSubject(const std::string& name) {
  std::vector<std::string> names;
  for (const Subject& subject : Subjects()) {
    if (subject.name == name) return &subject;
    names.push_back(subject.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown subject ", Quote(name), " to draw", DidYouMean(name, names)));
}

// Those that are only for other subjects are refused.
absl::Status CheckFlags(const ConvertArgs& args, const Subject& subject) {
  for (const auto& [flag, given] :
       {std::pair("size", args.size.has_value()),
        {"encode", !args.encode.empty()},
        {"masks", args.masks},
        {"sequence_length", args.sequence_length.has_value()},
        {"vocabulary_size", args.vocabulary_size.has_value()},
        {"max_predictions_per_seq", args.max_predictions.has_value()}}) {
    if (!given || absl::c_linear_search(subject.flags, flag)) continue;
    std::vector<std::string> takers;
    for (const Subject& other : Subjects()) {
      if (absl::c_linear_search(other.flags, flag)) takers.push_back(other.name);
    }
    return absl::InvalidArgumentError(absl::StrCat("--", flag, " is for convert synthetic ",
                                                   absl::StrJoin(takers, " or "), ", got ",
                                                   subject.name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSynthetic(const ConvertArgs& args) {
  if (args.inputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("convert synthetic: got ", args.inputs.size(),
                                                   " subjects, want one, such as shapes"));
  }
  ASSIGN_OR_RETURN(const Subject* const subject, FindSubject(args.inputs.front()));
  RETURN_IF_ERROR(CheckFlags(args, *subject));
  if (!args.examples.has_value()) {
    return absl::InvalidArgumentError("convert synthetic needs --examples=N, how many to draw");
  }
  if (*args.examples < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--examples: got ", *args.examples, ", want a number > 0"));
  }
  return subject->check(args);
}

absl::Status ConvertSynthetic(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(const Subject* const subject, FindSubject(args.inputs.front()));
  return subject->write(args, write);
}

}  // namespace tpurun
