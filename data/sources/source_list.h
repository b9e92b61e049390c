// The sources that exist, as a table.
#ifndef TPURUN_DATA_SOURCES_SOURCE_LIST_H_
#define TPURUN_DATA_SOURCES_SOURCE_LIST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/records.h"
#include "data/table.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"
#include "runtime/spec/trained_folder.h"

namespace tpurun {

using FileNames = google::protobuf::RepeatedPtrField<std::string>;

enum class CountRecords { kNo, kIfQuick, kYes };

struct SourceArgs {
  std::string directory;  // relative file names are in it; empty: the working directory
  OnEmpty on_empty;
  CountRecords count = CountRecords::kNo;  // never by reading a pipe
  uint64_t seed = 0;                       // tf_random_seed
  std::optional<TrainedFolder> trained;    // that of InputFnArgs
  // The place of a field of the source's message, for messages.
  std::function<std::string(const std::string& field)> where;
};

struct OpenedSource {
  std::unique_ptr<Records> records;
  std::optional<int64_t> count;                    // records of one pass, where known
  std::vector<std::string> files;                  // those that it reads, in their order
  std::vector<FileHeader> headers = {};            // of those files that can be read again
  std::map<std::string, std::string> assets = {};  // those of InputSource
  std::map<std::string, int64_t> num_ids = {};     // of a column whose values are ids in [0, n)
};

struct SourceDef {
  proto::Source::KindCase kind;
  const char* name;
  // The columns of its records, from the configuration alone. Mistakes are added to `errors`, which
  // is empty before, by paths below the source's own message; nullopt then.
  std::optional<Schema> (*schema)(const proto::Source& source, ConfigErrors& errors);
  // Finds the files. NotFound names the file.
  absl::StatusOr<OpenedSource> (*open)(const proto::Source& source, const SourceArgs& args);
  // The fields that decide which records it gives, without the names of files. A saved position is
  // valid only for an equal description.
  std::string (*describe)(const proto::Source& source);
  // The names and globs that it reads, its field "file". Null: it reads no files.
  const FileNames& (*file_names)(const proto::Source& source) = nullptr;
  // Clears the fields that select a part of its files. Null: it has no such fields.
  void (*read_all)(proto::Source* source) = nullptr;
  // All of it stays in memory: a pipe can be repeated.
  bool in_memory = false;
};

std::span<const SourceDef> SourceList();
// Null for a kind that does not exist (yet), and for none.
const SourceDef* FindSource(proto::Source::KindCase kind);
// One of its files is "-".
bool ReadsStandardInput(const proto::Source& source);
// It can be read only once, and is not kept.
bool ReadsOnce(const proto::Source& source);
// NotFound names a file that it reads and that is not there. Standard input is.
absl::Status FindFiles(const proto::Source& source);
// The files that it reads; none when one is missing, of which opening the source tells.
std::vector<std::string> FilesOf(const proto::Source& source);
// The name of the field that is set: "text_line"; empty when none is.
std::string SourceName(const proto::Source& source);

// Reads to the end; returns the number of records from here on.
absl::StatusOr<int64_t> CountAll(SourceReader& reader);

// ---- what the rows of the table point to, by file

// text_line.cc
std::optional<Schema> TextLineSchema(const proto::Source& source, ConfigErrors& errors);
absl::StatusOr<OpenedSource> OpenTextLine(const proto::Source& source, const SourceArgs& args);
std::string DescribeTextLine(const proto::Source& source);
const FileNames& TextLineFileNames(const proto::Source& source);
// tfrecord.cc
std::optional<Schema> TfrecordSchema(const proto::Source& source, ConfigErrors& errors);
absl::StatusOr<OpenedSource> OpenTfrecord(const proto::Source& source, const SourceArgs& args);
std::string DescribeTfrecord(const proto::Source& source);
const FileNames& TfrecordFileNames(const proto::Source& source);
// fixed_length_record.cc
std::optional<Schema> FixedLengthRecordSchema(const proto::Source& source, ConfigErrors& errors);
absl::StatusOr<OpenedSource> OpenFixedLengthRecord(const proto::Source& source,
                                                   const SourceArgs& args);
std::string DescribeFixedLengthRecord(const proto::Source& source);
const FileNames& FixedLengthRecordFileNames(const proto::Source& source);
// text.cc
std::optional<Schema> TextSchema(const proto::Source& source, ConfigErrors& errors);
absl::StatusOr<OpenedSource> OpenText(const proto::Source& source, const SourceArgs& args);
std::string DescribeText(const proto::Source& source);
const FileNames& TextFileNames(const proto::Source& source);
void ReadAllOfText(proto::Source* source);
// from_tensor_slices.cc
std::optional<Schema> TensorSlicesSchema(const proto::Source& source, ConfigErrors& errors);
absl::StatusOr<OpenedSource> OpenTensorSlices(const proto::Source& source, const SourceArgs& args);
std::string DescribeTensorSlices(const proto::Source& source);

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_SOURCE_LIST_H_
