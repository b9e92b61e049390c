// text { file sequence_length shift vocabulary_file with_labels unknown_id streams begin end
// with_starts }: windows of the characters of the files.
#include "data/text.h"

#include <algorithm>
#include <utility>

#include "data/character_vocabulary.h"
#include "data/sources/files.h"
#include "data/sources/source_list.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

WindowsSpec SpecOf(const proto::Text& text) {
  return {.length = text.sequence_length(),
          .shift = text.has_shift() ? text.shift() : text.sequence_length(),
          .streams = text.streams(),
          .with_next = text.with_labels(),
          .begin = text.begin(),
          .end = text.end(),
          .unknown_id = text.has_unknown_id() ? text.unknown_id() : -1};
}

Schema SchemaOf(const proto::Text& text) {
  Schema schema = {{"text", proto::INT32, {text.sequence_length()}}};
  if (text.with_labels()) schema.push_back({"next", proto::INT32, {text.sequence_length()}});
  if (text.with_starts()) schema.push_back({"start", proto::INT32, {}});
  return schema;
}

class TextRecords : public IndexedRecords {
 public:
  TextRecords(TextWindows windows, const proto::Text& text)
      : IndexedRecords(windows.size()),
        windows_(std::move(windows)),
        schema_(SchemaOf(text)),
        with_starts_(text.with_starts()) {}

  const Schema& schema() const override { return schema_; }

  absl::Status Load(std::span<const Item> items, int, Table* rows) override {
    int32_t* values[3] = {};  // of each column
    for (size_t c = 0; c < schema_.size(); ++c) {
      Bytes& bytes = rows->columns[c].bytes;
      bytes.resize(items.size() * schema_[c].row_bytes());
      values[c] = reinterpret_cast<int32_t*>(bytes.data());
    }
    for (const Item& item : items) {
      windows_.Get(item.id, values[0], values[1]);
      if (with_starts_) *values[schema_.size() - 1] = windows_.IsFirst(item.id) ? 1 : 0;
      for (size_t c = 0; c < schema_.size(); ++c) values[c] += schema_[c].elements();
    }
    rows->rows = std::ssize(items);
    return absl::OkStatus();
  }

  Origin OriginOf(const Item& item) const override {
    const Text::Place place = windows_.PlaceOf(item.id);
    return {.file = place.file, .record = item.id, .offset = place.offset};
  }
  std::string Where(const Origin& origin) const override {
    return windows_.Where({origin.file, origin.offset});
  }

 private:
  const TextWindows windows_;
  const Schema schema_;
  const bool with_starts_;  // its last column
};

absl::StatusOr<Text> ReadText(const std::vector<std::string>& files) {
  Text text;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::Open(file));
    RETURN_IF_ERROR(text.Append(*source, FileTitle(file)));
  }
  return text;
}

absl::StatusOr<CharacterVocabulary> ChooseVocabulary(const proto::Text& config,
                                                     const SourceArgs& args, const Text& text) {
  const bool given = config.has_vocabulary_file();
  const std::string where = given ? args.where("vocabulary_file") : args.where("");
  const std::string path = given ? JoinPath(args.directory, config.vocabulary_file()) : "";
  if (args.trained.has_value()) return CharacterVocabulary::ReadTrained(*args.trained, path, where);
  if (given) return CharacterVocabulary::Read(path, where);
  return CharacterVocabulary::Of(text.characters());
}

}  // namespace

std::optional<Schema> TextSchema(const proto::Source& source, ConfigErrors& errors) {
  const proto::Text& text = source.text();
  CheckFileNames(text.file(), errors);
  if (text.has_vocabulary_file() && text.vocabulary_file().empty()) {
    errors.Add("vocabulary_file", "vocabulary_file must not be empty");
  }
  if (text.begin() >= text.end()) {
    errors.Add(text.has_begin() ? "begin" : "end",
               absl::StrCat("want begin < end, got begin ", ShortestText(text.begin()), " and end ",
                            ShortestText(text.end())));
  }
  if (!errors.empty()) return std::nullopt;
  return SchemaOf(text);
}

absl::StatusOr<OpenedSource> OpenText(const proto::Source& source, const SourceArgs& args) {
  const proto::Text& config = source.text();
  OpenedSource opened;
  ASSIGN_OR_RETURN(opened.files, ExpandFileNames(config.file(), args.directory, args.where));
  ASSIGN_OR_RETURN(Text text, ReadText(opened.files));
  ASSIGN_OR_RETURN(CharacterVocabulary vocabulary, ChooseVocabulary(config, args, text));
  opened.assets[kVocabularyFile] = vocabulary.FileText();
  const int64_t num_ids = std::max(vocabulary.size(), SpecOf(config).unknown_id + 1);
  for (const char* column : {"text", "next"}) opened.num_ids[column] = num_ids;
  absl::StatusOr<TextWindows> windows =
      TextWindows::Create(std::move(text), std::move(vocabulary), SpecOf(config));
  if (!windows.ok()) {
    return absl::DataLossError(
        absl::StrCat(windows.status().message(),
                     "; train with a vocabulary_file that has it, or give an unknown_id"));
  }
  const absl::Status not_empty =
      Annotate(windows->CheckNotEmpty(), absl::StrCat("text ", JoinFileNames(config.file())));
  if (!not_empty.ok()) RETURN_IF_ERROR(args.on_empty(std::string(not_empty.message())));
  opened.count = windows->size();
  opened.records = std::make_unique<TextRecords>(*std::move(windows), config);
  return opened;
}

std::string DescribeText(const proto::Source& source) {
  const WindowsSpec spec = SpecOf(source.text());
  std::string part;
  if (spec.begin != 0 || spec.end != 1) {
    part = absl::StrCat(" begin ", ShortestText(spec.begin), " end ", ShortestText(spec.end));
  }
  return absl::StrCat("text sequence_length ", spec.length, " shift ", spec.shift, " streams ",
                      spec.streams, spec.with_next ? "" : " without labels",
                      source.text().with_starts() ? " with starts" : "", part);
}

const FileNames& TextFileNames(const proto::Source& source) { return source.text().file(); }

void ReadAllOfText(proto::Source* source) {
  source->mutable_text()->clear_begin();
  source->mutable_text()->clear_end();
}

}  // namespace tpurun
