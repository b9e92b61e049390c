#include "data/convert/convert.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "data/character_vocabulary.h"
#include "data/convert/example_list.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/zlib_stream.h"

namespace tpurun {

std::span<const ConvertKind> ConvertKinds() {
  static const auto* const kKinds = new std::vector<ConvertKind>{
      {.name = "idx", .check = CheckIdx, .convert = ConvertIdx},
      {.name = "cifar", .flags = {"classes"}, .check = CheckCifar, .convert = ConvertCifar},
      {.name = "csv",
       .flags = {"features", "skip_lines", "delimiter"},
       .check = CheckCsv,
       .convert = ConvertCsv},
      {.name = "images",
       .flags = {"skip_lines", "bounding_boxes", "seed", "begin", "end"},
       .writes_beside = kClassesFile,
       .check = CheckImages,
       .convert = ConvertImages,
       .list = ListImages},
      {.name = "imagenet",
       .flags = {"labels", "synsets", "bounding_boxes", "seed", "begin", "end"},
       .check = CheckImagenet,
       .convert = ConvertImagenet,
       .list = ListImagenet},
      {.name = "text",
       .flags = {"sequence_length", "shift", "streams", "vocabulary"},
       .writes_beside = kVocabularyFile,
       .check = CheckText,
       .convert = ConvertText},
      {.name = "synthetic",
       .flags = {"examples", "seed", "size", "encode", "masks", "sequence_length",
                 "vocabulary_size", "max_predictions_per_seq"},
       .reads_files = false,
       .check = CheckSynthetic,
       .convert = ConvertSynthetic},
  };
  return *kKinds;
}

absl::StatusOr<const ConvertKind*> FindConvertKind(const std::string& name) {
  std::vector<std::string> names;
  for (const ConvertKind& kind : ConvertKinds()) {
    if (kind.name == name) return &kind;
    names.push_back(kind.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown kind ", Quote(name), " to convert", DidYouMean(name, names)));
}

absl::Status CheckNamedFiles(const char* kind, const ConvertArgs& args) {
  if (args.inputs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("convert ", kind, " needs a file"));
  }
  if (std::count(args.inputs.begin(), args.inputs.end(), "-") > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("convert ", kind, ": \"-\" (standard input) can be read only once"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenMaybeGzip(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, FileSource::Open(path));
  if (!source->remaining().has_value()) return source;
  char magic[2] = {};
  ASSIGN_OR_RETURN(const size_t got, source->Read(magic, sizeof magic));
  const bool gzip = got == sizeof magic && magic[0] == '\x1f' && magic[1] == '\x8b';
  ASSIGN_OR_RETURN(source, FileSource::Open(path));
  if (!gzip) return source;
  return std::make_unique<ZlibSource>(std::move(source), Compression::kGzip, path);
}

}  // namespace tpurun
