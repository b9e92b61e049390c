#include "data/convert/listed_files.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "proto/serialize.h"
#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"
#include "runtime/io/record_writer.h"

namespace tpurun {
namespace {

constexpr std::string_view kFinishedSuffix = ".finished";
constexpr std::string_view kUnfinishedSuffix = ".unfinished";
constexpr uint64_t kMaxStateBytes = 1 << 16;

// Hidden, so that a glob does not match it.
std::string HiddenBeside(const std::string& path, std::string_view suffix) {
  return JoinPath(DirName(path), absl::StrCat(".", BaseName(path), ToAbsl(suffix)));
}

FilePath FinishedPath(const FilePath& target) {
  return target.WithName(HiddenBeside(target.name(), kFinishedSuffix));
}

std::string UnfinishedPath(const std::string& prefix) {
  return HiddenBeside(prefix, kUnfinishedSuffix);
}

// The finished shards in the directory of the prefix.
std::vector<std::string> FinishedPaths(const std::string& prefix) {
  std::vector<std::string> paths;
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(DirName(prefix));
  if (!names.ok()) return paths;
  for (const std::string& name : *names) {
    if (!name.starts_with('.') || !name.ends_with(kFinishedSuffix)) continue;
    const size_t size = name.size() - 1 - kFinishedSuffix.size();
    if (!IsOfPrefix(name.substr(1, size), BaseName(prefix))) continue;
    paths.push_back(JoinPath(DirName(prefix), name));
  }
  return paths;
}

// What the state file says.
std::string StateText(const ExampleList& list, int shards, Compression compression) {
  return absl::StrCat(
      "The hidden files of this name that end in .finished are shards of a tpurun convert that was "
      "interrupted.\nThe same command goes on with the others.\nformat: 1\nshards: ",
      shards, "\ncompression: ", static_cast<int>(compression), "\nrecords: ", list.size(), "\n",
      list.Identity());
}

}  // namespace

absl::StatusOr<std::unique_ptr<ListedFiles>> ListedFiles::Create(
    const std::string& prefix, int shards, Compression compression,
    const std::vector<std::string>& inputs, const ExampleList& list) {
  ASSIGN_OR_RETURN(ShardSet set, ShardSet::Create(prefix, shards, inputs));
  RETURN_IF_ERROR(set.CheckEnough(list.size()));
  ASSIGN_OR_RETURN(std::unique_ptr<LockedFile> state, LockedFile::Open(UnfinishedPath(prefix)));
  std::unique_ptr<ListedFiles> files(
      new ListedFiles(std::move(set), compression, list, prefix, std::move(state)));
  RETURN_IF_ERROR(files->TakeOver());
  return files;
}

absl::Status ListedFiles::TakeOver() {
  const std::string text = StateText(list_, set_.size(), compression_);
  const absl::StatusOr<std::string> there = ReadFile(state_->path(), kMaxStateBytes);
  if (!there.ok() || *there != text) {
    // Durably, so that no power failure leaves them beside a text that is not theirs.
    RETURN_IF_ERROR(RemoveFinished());
    RETURN_IF_ERROR(set_.SyncDirectories());
    RETURN_IF_ERROR(state_->Write(text));
  }
  for (int shard = 0; shard < set_.size(); ++shard) {
    finished_.push_back(FileExists(FinishedPath(set_.target(shard))));
    if (!finished_.back()) continue;
    ++num_finished_;
    written_ += NumExamples(list_, shard, set_.size());
  }
  return absl::OkStatus();
}

absl::Status ListedFiles::RemoveFinished() const {
  for (int shard = 0; shard < set_.size(); ++shard) {
    RETURN_IF_ERROR(RemoveFile(FinishedPath(set_.target(shard))));
  }
  for (const std::string& path : FinishedPaths(prefix_)) RETURN_IF_ERROR(RemoveFile(path));
  return absl::OkStatus();
}

void ListedFiles::RemoveUnfinished(const std::string& prefix) {
  const std::vector<std::string> finished = FinishedPaths(prefix);
  const std::string path = UnfinishedPath(prefix);
  absl::StatusOr<std::unique_ptr<LockedFile>> state;
  if (FileExists(path)) {
    state = LockedFile::Open(path);
    if (!state.ok()) return;
  }
  for (const std::string& file : finished) RemoveFile(file).IgnoreError();
  RemoveFile(path).IgnoreError();
}

ListedFiles::~ListedFiles() {
  if (keep_) return;
  RemoveFinished().IgnoreError();
  RemoveFile(state_->path()).IgnoreError();
}

absl::Status ListedFiles::WriteShard(int shard, ThreadPool& pool) {
  const FilePath& target = set_.target(shard);
  ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(target));
  OutputFile* const borrowed = file.get();
  RecordWriter records(std::move(file), compression_, paths()[shard]);
  const auto write = [&](const tensorflow::Example& example) {
    if (++written_ % 256 == 0 && counted_) counted_(written_);
    return records.Write(SerializeDeterministically(example));
  };
  RETURN_IF_ERROR(ReadExamples(list_, shard, set_.size(), pool, write));
  RETURN_IF_ERROR(records.Close());
  RETURN_IF_ERROR(borrowed->RenameTo(FinishedPath(target)));
  finished_[shard] = true;
  ++num_finished_;
  if (on_finished_) on_finished_(num_finished_);
  return absl::OkStatus();
}

absl::Status ListedFiles::WriteShards() {
  ThreadPool pool(static_cast<int>(AllowedCpus().size()));
  for (int shard = 0; shard < set_.size(); ++shard) {
    if (!finished_[shard]) RETURN_IF_ERROR(WriteShard(shard, pool));
  }
  return list_.WriteBeside();
}

absl::Status ListedFiles::Write() {
  const absl::Status written = WriteShards();
  if (absl::IsPermissionDenied(written) && num_finished_ > 0) {
    keep_ = true;
    return absl::Status(written.code(),
                        absl::StrCat(written.message(), "; ", num_finished_, " of ", set_.size(),
                                     " files are finished: the same command goes on"));
  }
  RETURN_IF_ERROR(written);
  return set_.NameAll([&](int shard) {
    const FilePath& target = set_.target(shard);
    return RenameFile(FinishedPath(target), target);
  });
}

}  // namespace tpurun
