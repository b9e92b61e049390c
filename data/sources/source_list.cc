#include "data/sources/source_list.h"

#include <algorithm>

#include "data/sources/files.h"
#include "google/protobuf/descriptor.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

constexpr SourceDef kSources[] = {
    {.kind = proto::Source::kTfrecord,
     .name = "tfrecord",
     .schema = TfrecordSchema,
     .open = OpenTfrecord,
     .describe = DescribeTfrecord,
     .file_names = TfrecordFileNames,
     .draws_order = [](const proto::Source& source) { return source.tfrecord().shuffle_files(); }},
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
    {.kind = proto::Source::kImageFile,
     .name = "image_file",
     .schema = ImageFileSchema,
     .open = OpenImageFile,
     .describe = DescribeImageFile,
     .file_names = ImageFileNames},
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
    {.kind = proto::Source::kZip, .name = "zip", .describe = DescribeZip, .inputs = ZipInputs},
    {.kind = proto::Source::kSampleFromDatasets,
     .name = "sample_from_datasets",
     .describe = DescribeSample,
     .draws_order = [](const proto::Source&) { return true; },
     .inputs = SampleInputs},
};

}  // namespace

std::span<const SourceDef> SourceList() { return kSources; }

const SourceDef* FindSource(proto::Source::KindCase kind) {
  for (const SourceDef& def : kSources) {
    if (def.kind == kind) return &def;
  }
  return nullptr;
}

const InputField& InputsOf(const proto::Source& source) {
  const SourceDef* const def = FindSource(source.kind_case());
  return def == nullptr || def->inputs == nullptr ? proto::Zip::default_instance().input()
                                                  : def->inputs(source);
}

FileNames AllFileNames(const proto::Source& source) {
  FileNames names;
  const SourceDef* const def = FindSource(source.kind_case());
  if (def != nullptr && def->file_names != nullptr) names = def->file_names(source);
  for (const proto::Input& input : InputsOf(source)) {
    names.MergeFrom(AllFileNames(input.source()));
  }
  return names;
}

bool ReadsStandardInput(const proto::Source& source) {
  return NamesStandardInput(AllFileNames(source));
}

bool DrawsOrder(const proto::Source& source) {
  const SourceDef* const def = FindSource(source.kind_case());
  return def != nullptr && def->draws_order != nullptr && def->draws_order(source);
}

bool ReadsOnce(const proto::Source& source) {
  const SourceDef* const def = FindSource(source.kind_case());
  if (def != nullptr && def->in_memory) return false;
  if (def != nullptr && def->file_names != nullptr) return ReadsStandardInput(source);
  const InputField& inputs = InputsOf(source);
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const proto::Input& input) { return ReadsOnce(input.source()); });
}

namespace {

absl::StatusOr<std::vector<std::string>> ExpandFiles(const proto::Source& source) {
  return ExpandFileNames(AllFileNames(source), "", /*where=*/nullptr);
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

std::string DescribeZip(const proto::Source& source) {
  return absl::StrCat("zip of ", source.zip().input_size(), " inputs");
}

std::string DescribeSample(const proto::Source& source) {
  const proto::SampleFromDatasets& sample = source.sample_from_datasets();
  std::string text = absl::StrCat("sample_from_datasets of ", sample.input_size(), " inputs");
  if (sample.weight_size() > 0) absl::StrAppend(&text, " weight");
  for (const float weight : sample.weight()) absl::StrAppend(&text, " ", ShortestText(weight));
  if (sample.stop_on_empty_dataset()) absl::StrAppend(&text, " stop_on_empty_dataset");
  return text;
}

const InputField& ZipInputs(const proto::Source& source) { return source.zip().input(); }

const InputField& SampleInputs(const proto::Source& source) {
  return source.sample_from_datasets().input();
}

}  // namespace tpurun
