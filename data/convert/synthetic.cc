// Pictures that are drawn instead of read.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/convert/convert.h"
#include "data/convert/image_example.h"
#include "data/convert/pictures.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// Below, nobody can tell one from another; a picture of the largest has 12 MiB.
constexpr int64_t kMinSize = 16;
constexpr int64_t kMaxSize = 2048;

absl::StatusOr<const PictureSubject*> FindSubject(const std::string& name) {
  std::vector<std::string> names;
  for (const PictureSubject& subject : PictureSubjects()) {
    if (subject.name == name) return &subject;
    names.emplace_back(subject.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown subject ", Quote(name), " to draw", DidYouMean(name, names)));
}

}  // namespace

absl::Status CheckSynthetic(const ConvertArgs& args) {
  if (args.inputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("convert synthetic: got ", args.inputs.size(),
                                                   " subjects, want one, such as shapes"));
  }
  RETURN_IF_ERROR(FindSubject(args.inputs.front()).status());
  if (!args.examples.has_value()) {
    return absl::InvalidArgumentError("convert synthetic needs --examples=N, how many to draw");
  }
  if (*args.examples < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--examples: got ", *args.examples, ", want a number > 0"));
  }
  if (args.size.has_value() && (*args.size < kMinSize || *args.size > kMaxSize)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--size: got ", *args.size, ", want ", kMinSize, " to ", kMaxSize, " pixels"));
  }
  return absl::OkStatus();
}

absl::Status ConvertSynthetic(const ConvertArgs& args, const ExampleSink& write) {
  ASSIGN_OR_RETURN(const PictureSubject* const subject, FindSubject(args.inputs.front()));
  const uint64_t seed = static_cast<uint64_t>(args.seed);
  const int64_t size = args.size.value_or(subject->size);
  ImageExample example;
  for (int64_t i = 0; i < *args.examples; ++i) {
    const Picture picture = DrawPicture(*subject, seed, i, size);
    example.set_label(picture.label);
    PaintPicture(picture, seed, i, &example.image());
    RETURN_IF_ERROR(write(example.example()));
  }
  return absl::OkStatus();
}

}  // namespace tpurun
