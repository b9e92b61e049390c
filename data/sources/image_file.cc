// image_file { file feature }: each file is a record, a tf.Example with the file's bytes as its one
// feature, and the column file_key, if there is one, has the file's name.
#include <utility>

#include "data/sources/files.h"
#include "data/sources/interleaved_files.h"
#include "data/sources/source_file.h"
#include "data/sources/source_list.h"
#include "proto/example.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// More than any file that decode_image decodes; less than a protobuf may have.
constexpr uint64_t kMostImageBytes = uint64_t{1} << 30;

class OneImageFile : public SourceFile {
 public:
  // `feature` must outlive it.
  OneImageFile(std::string path, const std::string& feature)
      : path_(std::move(path)), feature_(feature) {}

  absl::StatusOr<bool> Read(SourceRecord* record) override {
    if (std::exchange(is_read_, true)) return false;
    if (record == nullptr) return true;
    record->origin = {};
    tensorflow::Example example;
    tensorflow::Feature& feature = (*example.mutable_features()->mutable_feature())[feature_];
    ASSIGN_OR_RETURN(*feature.mutable_bytes_list()->add_value(), ReadFile(path_, kMostImageBytes));
    example.SerializeToString(&record->bytes);
    return true;
  }

  absl::Status CheckEnd() const override { return absl::OkStatus(); }

 private:
  const std::string path_;
  const std::string& feature_;
  bool is_read_ = false;
};

class ImageFileReader : public InterleavedFiles {
 public:
  ImageFileReader(std::vector<std::string> files, std::string feature)
      : InterleavedFiles(std::move(files), {}), feature_(std::move(feature)) {}

  std::string Where(const Origin& origin) const override { return file(origin.file); }
  std::string_view HeaderOf(const Origin& origin) const override { return file(origin.file); }

 private:
  absl::StatusOr<std::unique_ptr<SourceFile>> OpenFile(size_t index) override {
    return std::make_unique<OneImageFile>(file(index), feature_);
  }

  const std::string feature_;
};

}  // namespace

std::optional<Schema> ImageFileSchema(const proto::Source& source, ConfigErrors& errors) {
  const proto::ImageFile& config = source.image_file();
  CheckFileNames(config.file(), errors);
  if (NamesStandardInput(config.file())) {
    errors.Add("file", "got \"-\" (standard input), want files: each is an image");
  }
  CheckColumnName(config.feature(), {}, "feature", errors);
  Schema schema = {{kRecord, proto::STRING, {}}};
  if (!config.file_key().empty()) {
    CheckColumnName(config.file_key(), {}, "file_key", errors);
    if (config.file_key() == kRecord) {
      errors.Add("file_key",
                 absl::StrCat(Quote(kRecord), " is the key of the image itself; give another"));
    }
    schema.push_back({config.file_key(), proto::STRING, {}});
  }
  if (!errors.empty()) return std::nullopt;
  return schema;
}

absl::StatusOr<OpenedSource> OpenImageFile(const proto::Source& source, const SourceArgs& args) {
  const proto::ImageFile& config = source.image_file();
  OpenedSource opened;
  ASSIGN_OR_RETURN(opened.files, ExpandFileNames(config.file(), args.directory, args.where));
  opened.count = std::ssize(opened.files);
  opened.records = std::make_unique<StreamedRecords>(
      std::make_unique<ImageFileReader>(opened.files, config.feature()), kRecord,
      config.file_key());
  return opened;
}

std::string DescribeImageFile(const proto::Source& source) {
  return absl::StrCat("image_file feature ", source.image_file().feature());
}

const FileNames& ImageFileNames(const proto::Source& source) { return source.image_file().file(); }

}  // namespace tpurun
