#include "data/sources/source_list.h"

#include "data/sources/files.h"
#include "google/protobuf/descriptor.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr SourceDef kSources[] = {
    {.kind = proto::Source::kTfrecord,
     .name = "tfrecord",
     .schema = TfrecordSchema,
     .open = OpenTfrecord,
     .describe = DescribeTfrecord,
     .file_names = TfrecordFileNames},
    {.kind = proto::Source::kTextLine,
     .name = "text_line",
     .schema = TextLineSchema,
     .open = OpenTextLine,
     .describe = DescribeTextLine,
     .file_names = TextLineFileNames},
    {.kind = proto::Source::kFixedLengthRecord,
     .name = "fixed_length_record",
     .schema = FixedLengthRecordSchema,
     .open = OpenFixedLengthRecord,
     .describe = DescribeFixedLengthRecord,
     .file_names = FixedLengthRecordFileNames},
    {.kind = proto::Source::kText,
     .name = "text",
     .schema = TextSchema,
     .open = OpenText,
     .describe = DescribeText,
     .file_names = TextFileNames,
     .read_all = ReadAllOfText,
     .in_memory = true},
    {.kind = proto::Source::kFromTensorSlices,
     .name = "from_tensor_slices",
     .schema = TensorSlicesSchema,
     .open = OpenTensorSlices,
     .describe = DescribeTensorSlices},
};

}  // namespace

std::span<const SourceDef> SourceList() { return kSources; }

const SourceDef* FindSource(proto::Source::KindCase kind) {
  for (const SourceDef& def : kSources) {
    if (def.kind == kind) return &def;
  }
  return nullptr;
}

bool ReadsStandardInput(const proto::Source& source) {
  const SourceDef* const def = FindSource(source.kind_case());
  return def != nullptr && def->file_names != nullptr &&
         NamesStandardInput(def->file_names(source));
}

bool ReadsOnce(const proto::Source& source) {
  return ReadsStandardInput(source) && !FindSource(source.kind_case())->in_memory;
}

namespace {

absl::StatusOr<std::vector<std::string>> ExpandFiles(const proto::Source& source) {
  const SourceDef* const def = FindSource(source.kind_case());
  if (def == nullptr || def->file_names == nullptr) return std::vector<std::string>();
  return ExpandFileNames(def->file_names(source), "", /*where=*/nullptr);
}

}  // namespace

absl::Status FindFiles(const proto::Source& source) { return ExpandFiles(source).status(); }

std::vector<std::string> FilesOf(const proto::Source& source) {
  return ExpandFiles(source).value_or(std::vector<std::string>());
}

absl::StatusOr<int64_t> CountAll(SourceReader& reader) {
  for (int64_t count = 0;; ++count) {
    ASSIGN_OR_RETURN(const bool found, reader.Read(nullptr));
    if (!found) return count;
  }
}

std::string SourceName(const proto::Source& source) {
  const auto* const field = proto::Source::descriptor()->FindFieldByNumber(source.kind_case());
  return field == nullptr ? "" : field->name();
}

}  // namespace tpurun
