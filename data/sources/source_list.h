// The table of sources.
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
using InputField = google::protobuf::RepeatedPtrField<proto::Input>;

enum class CountRecords { kNo, kIfQuick, kYes };

struct SourceArgs {
  std::string directory;  // relative file names are resolved in it; empty: the working directory
  OnEmpty on_empty;
  CountRecords count = CountRecords::kNo;  // a pipe is never read for this
  uint64_t seed = 0;                       // tf_random_seed
  std::optional<TrainedFolder> trained;    // as InputFnArgs::trained
  bool decodes_lines = false;              // decode_csv or decode_json takes the source's lines
  // Returns the place of a field of the source's message, for messages.
  std::function<std::string(const std::string& field)> where;
};

struct OpenedSource {
  std::unique_ptr<Records> records;
  std::optional<int64_t> count;                    // records of one pass, if known
  std::vector<std::string> files;                  // the files that it reads, in order
  std::vector<FileHeader> headers = {};            // of the files that can be read more than once
  std::map<std::string, std::string> assets = {};  // as InputSource::assets
  std::map<std::string, int64_t> num_ids = {};     // by column whose values are ids in [0, n): n
};

struct SourceDef {
  proto::Source::KindCase kind;
  const char* name;
  // Returns the columns of the source's records, from the configuration alone. Adds mistakes to
  // `errors`, which is empty before the call, by paths below the source's own message. Then returns
  // nullopt. nullptr for a source that is made of other inputs (data/combined_input.h).
  std::optional<Schema> (*schema)(const proto::Source& source, ConfigErrors& errors);
  // Finds the files. NotFound names a missing file. nullptr where `schema` is.
  absl::StatusOr<OpenedSource> (*open)(const proto::Source& source, const SourceArgs& args);
  // Returns the fields that decide which records the source gives, without file names. A saved
  // position is valid only if this description is equal.
  std::string (*describe)(const proto::Source& source);
  // Returns the names and globs that the source reads, its field "file". nullptr if it reads no
  // files.
  const FileNames& (*file_names)(const proto::Source& source) = nullptr;
  // Clears the fields that select a part of the source's files. nullptr if there are no such
  // fields.
  void (*read_all)(proto::Source* source) = nullptr;
  // The source keeps all records in memory, so even a pipe can be repeated.
  bool in_memory = false;
  // True if the source draws the order of its elements by the seed. nullptr if it never does.
  bool (*draws_order)(const proto::Source& source) = nullptr;
  // Returns the inputs that the source is made of. nullptr if it is made of none.
  const InputField& (*inputs)(const proto::Source& source) = nullptr;
};

std::span<const SourceDef> SourceList();
// nullptr for a kind that the table lacks, and for KIND_NOT_SET.
const SourceDef* FindSource(proto::Source::KindCase kind);
// The inputs that the source is made of; none for a source of another kind.
const InputField& InputsOf(const proto::Source& source);
// The names and globs that the source and the inputs that it is made of read.
FileNames AllFileNames(const proto::Source& source);
// True if one of its files is "-".
bool ReadsStandardInput(const proto::Source& source);
// True if the source draws the order of its elements by the seed, whatever its inputs do.
bool DrawsOrder(const proto::Source& source);
// True if the source can be read only once and is not kept in memory.
bool ReadsOnce(const proto::Source& source);
// NotFound names a file of the source that does not exist. Standard input always exists.
absl::Status FindFiles(const proto::Source& source);
// The files that the source reads. Empty if one is missing; opening the source then reports it.
std::vector<std::string> FilesOf(const proto::Source& source);
// The name of the field that is set: "text_line". Empty if none is set.
std::string SourceName(const proto::Source& source);

// Reads to the end and returns the number of records read.
absl::StatusOr<int64_t> CountAll(SourceReader& reader);

// ---- the functions that the rows of the table point to, by file

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
// image_file.cc
std::optional<Schema> ImageFileSchema(const proto::Source& source, ConfigErrors& errors);
absl::StatusOr<OpenedSource> OpenImageFile(const proto::Source& source, const SourceArgs& args);
std::string DescribeImageFile(const proto::Source& source);
const FileNames& ImageFileNames(const proto::Source& source);
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
// source_list.cc
std::string DescribeZip(const proto::Source& source);
std::string DescribeSample(const proto::Source& source);
const InputField& ZipInputs(const proto::Source& source);
const InputField& SampleInputs(const proto::Source& source);

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_SOURCE_LIST_H_
