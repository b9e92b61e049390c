#include "data/convert/example_files.h"

#include "data/convert/listed_files.h"
#include "proto/serialize.h"
#include "runtime/base/status.h"

namespace tpurun {

absl::StatusOr<std::unique_ptr<ExampleFiles>> ExampleFiles::Create(
    const std::string& prefix, int shards, Compression compression,
    const std::vector<std::string>& inputs) {
  ASSIGN_OR_RETURN(ShardSet set, ShardSet::Create(prefix, shards, inputs));
  ListedFiles::RemoveUnfinished(prefix);
  std::unique_ptr<ExampleFiles> files(new ExampleFiles(std::move(set)));
  for (int shard = 0; shard < shards; ++shard) {
    ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                     OutputFile::Create(files->set_.target(shard)));
    OutputFile* const borrowed = file.get();
    files->shards_.push_back({borrowed, std::make_unique<RecordWriter>(std::move(file), compression,
                                                                       files->paths()[shard])});
  }
  return files;
}

absl::Status ExampleFiles::Write(const tensorflow::Example& example) {
  RecordWriter& shard = *shards_[records_++ % shards_.size()].records;
  if (counted_ && records_ % 256 == 0) counted_(records_);
  return shard.Write(SerializeDeterministically(example));
}

absl::Status ExampleFiles::Commit() {
  RETURN_IF_ERROR(set_.CheckEnough(records_));
  for (const Shard& shard : shards_) RETURN_IF_ERROR(shard.records->Close());
  return set_.NameAll([&](int shard) { return shards_[shard].file->Rename(); });
}

}  // namespace tpurun
