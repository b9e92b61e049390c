#include "data/convert/example_files.h"

#include <algorithm>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/serialize.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

std::vector<std::string> ShardPaths(const std::string& prefix, int shards) {
  if (shards == 1) return {prefix};
  std::vector<std::string> paths;
  for (int shard = 0; shard < shards; ++shard) {
    paths.push_back(absl::StrFormat("%s-%05d-of-%05d", prefix, shard, shards));
  }
  return paths;
}

// Hidden: a glob such as PREFIX* must not find what a killed process left.
std::string HiddenName(const std::string& path) {
  return JoinPath(DirName(path), absl::StrCat(".", TemporaryName(BaseName(path))));
}

absl::Status CheckNoOtherShards(const std::string& prefix, const std::vector<std::string>& paths) {
  // Without the directory, creating the files says so.
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(DirName(prefix));
  if (!names.ok()) return absl::OkStatus();
  static const std::regex* const kShard = new std::regex("(-[0-9]{5}-of-[0-9]{5})?");
  const std::string base = BaseName(prefix);
  for (const std::string& name : *names) {
    if (name.compare(0, base.size(), base) != 0) continue;
    if (!std::regex_match(name.substr(base.size()), *kShard)) continue;
    const std::string path = JoinPath(DirName(prefix), name);
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--output: ", path, " is there from another number of shards, and ", prefix,
                     "* would read both: remove it, or choose another prefix"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExampleFiles>> ExampleFiles::Create(
    const std::string& prefix, int shards, Compression compression,
    const std::vector<std::string>& inputs) {
  std::unique_ptr<ExampleFiles> files(new ExampleFiles(ShardPaths(prefix, shards), inputs));
  RETURN_IF_ERROR(CheckNoOtherShards(prefix, files->paths_));
  for (const std::string& path : files->paths_) {
    ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(path, inputs));
    files->files_.push_back(file.text());
    ASSIGN_OR_RETURN(std::unique_ptr<RecordWriter> writer,
                     RecordWriter::Create(HiddenName(file.text()), compression));
    files->writers_.push_back(std::move(writer));
  }
  return files;
}

std::vector<std::string> ExampleFiles::TemporaryPaths(const std::string& prefix, int shards) {
  std::vector<std::string> paths = ShardPaths(prefix, shards);
  for (std::string& path : paths) path = HiddenName(ReplaceableFile(path).value_or(path).text());
  return paths;
}

ExampleFiles::~ExampleFiles() {
  for (size_t i = committed_; i < writers_.size(); ++i) {
    RemoveFile(HiddenName(files_[i])).IgnoreError();
  }
}

absl::Status ExampleFiles::Write(const tensorflow::Example& example) {
  return writers_[records_++ % writers_.size()]->Write(SerializeDeterministically(example));
}

absl::Status ExampleFiles::Commit() {
  if (records_ < static_cast<int64_t>(writers_.size())) {
    return absl::DataLossError(absl::StrCat(
        absl::StrJoin(inputs_, " and "), ": ", records_, records_ == 1 ? " record" : " records",
        " in all, want ", writers_.size(), " or more: one a shard"));
  }
  for (const std::unique_ptr<RecordWriter>& writer : writers_) {
    RETURN_IF_ERROR(writer->Close());
  }
  for (; committed_ < paths_.size(); ++committed_) {
    RETURN_IF_ERROR(RenameDurably(HiddenName(files_[committed_]), files_[committed_]));
  }
  return absl::OkStatus();
}

}  // namespace tpurun
