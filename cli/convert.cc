#include "cli/convert.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "data/convert/convert.h"
#include "data/convert/example_files.h"
#include "data/convert/example_list.h"
#include "data/convert/listed_files.h"
#include "data/convert/shard_set.h"
#include "glog/logging.h"
#include "proto/serialize.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/record_writer.h"

namespace tpurun {
namespace {

// As many digits as the names of shards have.
constexpr int64_t kMaxShards = 99999;

absl::StatusOr<Compression> ParseCompression(const std::string& name) {
  if (name == "NONE") return Compression::kNone;
  if (name == "GZIP") return Compression::kGzip;
  if (name == "ZLIB") return Compression::kZlib;
  return absl::InvalidArgumentError(
      absl::StrCat("--compression: got ", Quote(name), ", want NONE, GZIP or ZLIB"));
}

bool Takes(const ConvertKind& kind, const std::string& flag) {
  return std::find(kind.flags.begin(), kind.flags.end(), flag) != kind.flags.end();
}

// Those that only other kinds take are refused.
absl::Status CheckFlags(const CommandLine& command, const ConvertKind& kind) {
  for (const ConvertKind& other : ConvertKinds()) {
    for (const char* const flag : other.flags) {
      if (!command.Has(flag) || Takes(kind, flag)) continue;
      std::vector<std::string> takers;
      for (const ConvertKind& taker : ConvertKinds()) {
        if (Takes(taker, flag)) takers.emplace_back(taker.name);
      }
      return absl::InvalidArgumentError(absl::StrCat("--", flag, " is for convert ",
                                                     absl::StrJoin(takers, " or "),
                                                     ", got convert ", kind.name));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> FilesReadFor(const ConvertArgs& args, const ConvertKind& kind) {
  std::vector<std::string> files;
  if (kind.reads_files) files = args.inputs;
  for (const std::string& file :
       {args.vocabulary, args.labels, args.synsets, args.bounding_boxes}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

// The records of a pipeline's next program.
class StandardOutput : public ByteSink {
 public:
  absl::Status Append(std::string_view bytes) override {
    buffer_.append(bytes);
    return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() override {
    RETURN_IF_ERROR(WriteOutput(buffer_));
    buffer_.clear();
    return absl::OkStatus();
  }
  absl::Status Sync() override { return Flush(); }
  absl::Status Close() override { return Flush(); }

 private:
  static constexpr size_t kBufferBytes = 1 << 16;
  std::string buffer_;
};

absl::Status ConvertToStandardOutput(const ConvertKind& kind, const ConvertArgs& args,
                                     Compression compression) {
  if (*kind.writes_beside != 0) {
    return absl::InvalidArgumentError(absl::StrCat("--output: got \"-\", want a PREFIX: convert ",
                                                   kind.name, " writes ", kind.writes_beside,
                                                   " beside it"));
  }
  RecordWriter records(std::make_unique<StandardOutput>(), compression, "standard output");
  int64_t count = 0;
  RETURN_IF_ERROR(kind.convert(args, [&](const tensorflow::Example& example) {
    ++count;
    return records.Write(SerializeDeterministically(example));
  }));
  RETURN_IF_ERROR(records.Close());
  if (count == 0) {
    return absl::DataLossError(absl::StrCat(absl::StrJoin(args.inputs, " and "), ": no records"));
  }
  LOG(INFO) << "Wrote " << count << " records to standard output.";
  return absl::OkStatus();
}

// What the files are to be.
struct ConvertOutput {
  std::string prefix;
  int shards = 1;
  Compression compression = Compression::kNone;
};

absl::Status WriteConverted(int64_t records, const std::vector<std::string>& paths) {
  return WriteResult({{"records", records}, {"files", paths}});
}

// Of the records and of what the kind writes beside them.
std::vector<std::string> TemporaryFiles(const ConvertKind& kind, const ConvertOutput& output) {
  std::vector<std::string> paths = ShardSet::TemporaryPaths(output.prefix, output.shards);
  if (*kind.writes_beside != 0) {
    paths.push_back(TemporaryName(JoinPath(DirName(output.prefix), kind.writes_beside)));
  }
  return paths;
}

absl::Status ConvertToFiles(const ConvertKind& kind, const ConvertArgs& args,
                            const ConvertOutput& output, ProgressLine& line) {
  RemoveOnInterrupt(TemporaryFiles(kind, output));
  ASSIGN_OR_RETURN(const std::unique_ptr<ExampleFiles> files,
                   ExampleFiles::Create(output.prefix, output.shards, output.compression,
                                        FilesReadFor(args, kind)));
  files->set_counted(line.Counter("records"));
  RETURN_IF_ERROR(kind.convert(
      args, [&files](const tensorflow::Example& example) { return files->Write(example); }));
  RETURN_IF_ERROR(files->Commit());
  return WriteConverted(files->records(), files->paths());
}

// Goes on where an interrupted process with the same command was.
absl::Status ConvertListToFiles(const ConvertKind& kind, const ConvertArgs& args,
                                const ConvertOutput& output, ProgressLine& line) {
  RemoveOnInterrupt({TemporaryName(output.prefix)});
  RETURN_IF_ERROR(ShardSet::CheckWritable(output.prefix));
  ASSIGN_OR_RETURN(const std::unique_ptr<ExampleList> list, kind.list(args));
  const std::vector<std::string> temporary = TemporaryFiles(kind, output);
  RemoveOnInterrupt(temporary);
  ASSIGN_OR_RETURN(const std::unique_ptr<ListedFiles> files,
                   ListedFiles::Create(output.prefix, output.shards, output.compression,
                                       FilesReadFor(args, kind), *list));
  const auto say = [&](int finished) {
    SayOnInterrupt(absl::StrCat("tpurun: interrupted: ", finished, " of ", output.shards,
                                " files are finished: the same command goes on\n"));
  };
  if (files->num_finished() > 0) {
    LOG(INFO) << "Took over " << files->num_finished() << " of " << output.shards
              << " files, which an interrupted run of this command has finished.";
    say(files->num_finished());
  } else {
    std::vector<std::string> with_state = temporary;
    with_state.push_back(files->StatePath());
    RemoveOnInterrupt(std::move(with_state));
  }
  files->set_finished([&](int finished) {
    if (finished == 1) RemoveOnInterrupt(temporary);
    say(finished);
  });
  files->set_counted(line.Counter("records"));
  RETURN_IF_ERROR(files->Write());
  return WriteConverted(files->records(), files->paths());
}

}  // namespace

absl::Status ConvertCommand(const CommandLine& command) {
  ASSIGN_OR_RETURN(const ConvertKind* const kind, FindConvertKind(command.arguments().front()));
  RETURN_IF_ERROR(CheckFlags(command, *kind));
  const auto number = [&](const char* flag) {
    return command.Has(flag) ? std::optional(command.GetInt(flag)) : std::nullopt;
  };
  const auto share = [&](const char* flag) {
    return command.Has(flag) ? std::optional(command.GetDouble(flag)) : std::nullopt;
  };
  ASSIGN_OR_RETURN(const std::optional<char> delimiter, ReadDelimiter(command));
  const ConvertArgs args = {
      .inputs = {command.arguments().begin() + 1, command.arguments().end()},
      .features = command.GetList("features"),
      .skip_lines = command.GetInt("skip_lines"),
      .delimiter = delimiter.value_or(','),
      .classes = number("classes"),
      .examples = number("examples"),
      .seed = command.GetInt("seed"),
      .size = number("size"),
      .encode = command.GetString("encode"),
      .masks = command.GetBool("masks"),
      .vocabulary_size = number("vocabulary_size"),
      .max_predictions = number("max_predictions_per_seq"),
      .sequence_length = number("sequence_length"),
      .shift = number("shift"),
      .streams = number("streams"),
      .vocabulary = command.GetString("vocabulary"),
      .begin = share("begin"),
      .end = share("end"),
      .labels = command.GetString("labels"),
      .synsets = command.GetString("synsets"),
      .bounding_boxes = command.GetString("bounding_boxes"),
      .output = command.GetString("output"),
      .warn = [](const std::string& message) { LOG(WARNING) << message << "."; }};
  RETURN_IF_ERROR(kind->check(args));
  const std::string& output = args.output;
  if (output.empty()) {
    return absl::InvalidArgumentError("convert needs --output=PREFIX; see tpurun help convert");
  }
  const int64_t shards = command.GetInt("shards", 1);
  if (shards < 1 || shards > kMaxShards) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shards: got ", shards, ", want 1 to ", kMaxShards));
  }
  if (args.examples.has_value() && shards > *args.examples) {
    return absl::InvalidArgumentError(absl::StrCat("--shards: got ", shards, ", want at most the ",
                                                   *args.examples, " of --examples"));
  }
  ASSIGN_OR_RETURN(const Compression compression,
                   ParseCompression(command.GetString("compression", "NONE")));
  if (output == "-") {
    if (shards == 1) return ConvertToStandardOutput(*kind, args, compression);
    return absl::InvalidArgumentError(
        absl::StrCat("--shards: got ", shards, ", want 1 for --output=-"));
  }
  ProgressLine line(command, false);
  const auto convert = kind->list == nullptr ? ConvertToFiles : ConvertListToFiles;
  return convert(*kind, args, {output, static_cast<int>(shards), compression}, line);
}

std::vector<std::string> ConvertChoices() {
  std::vector<std::string> names;
  for (const ConvertKind& kind : ConvertKinds()) names.emplace_back(kind.name);
  return names;
}

}  // namespace tpurun
