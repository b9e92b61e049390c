#include "data/convert/convert.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/zlib_stream.h"

namespace tpurun {
namespace {

constexpr ConvertKind kKinds[] = {
    {.name = "idx", .check = CheckIdx, .convert = ConvertIdx},
    {.name = "csv", .check = CheckCsv, .convert = ConvertCsv},
};

}  // namespace

std::span<const ConvertKind> ConvertKinds() { return kKinds; }

absl::StatusOr<const ConvertKind*> FindConvertKind(const std::string& name) {
  std::vector<std::string> names;
  for (const ConvertKind& kind : kKinds) {
    if (kind.name == name) return &kind;
    names.push_back(kind.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown kind ", Quote(name), " to convert", DidYouMean(name, names)));
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
