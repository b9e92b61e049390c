// What becomes TFRecord files of tf.Examples, files of other formats, text or what is drawn: the
// kinds that exist, as a table.
#ifndef TPURUN_DATA_CONVERT_CONVERT_H_
#define TPURUN_DATA_CONVERT_CONVERT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/example.pb.h"
#include "runtime/io/file.h"

namespace tpurun {

struct ConvertArgs {
  // Files; of synthetic what is drawn.
  std::vector<std::string> inputs;
  // csv: "NAME:bytes:0-63", "NAME:int64:64".
  std::vector<std::string> features;
  // csv: lines left out at the start of every file.
  int64_t skip_lines = 0;
  // cifar: 10 or 100; without it the size of each file tells.
  std::optional<int64_t> classes;
  // synthetic: how many, and what all are drawn from.
  std::optional<int64_t> examples;
  int64_t seed = 0;
  // synthetic pictures: pixels of a side (each subject has its own default).
  std::optional<int64_t> size;
  // synthetic sentence_pairs, with sequence_length tokens each: ids that there are, and the most
  // masked tokens of a record.
  std::optional<int64_t> vocabulary_size;
  std::optional<int64_t> max_predictions;
  // text: characters of a window, and from one window to the next (default: as many); streams that
  // it is dealt into (default: 1, and no "start"); the file of the vocabulary, empty: that of the
  // inputs; the prefix of the output, beside which it goes.
  std::optional<int64_t> sequence_length;
  std::optional<int64_t> shift;
  std::optional<int64_t> streams;
  std::string vocabulary = {};
  std::string output = {};
};

// Takes the examples one after the other; an error ends the conversion.
using ExampleSink = std::function<absl::Status(const tensorflow::Example& example)>;

struct ConvertKind {
  const char* name;
  // Those of its flags that not every kind takes.
  std::vector<const char*> flags = {};
  // Whether the inputs are files.
  bool reads_files = true;
  // Whether it writes vocabulary.txt beside the output.
  bool writes_vocabulary = false;
  // What is wrong with the arguments alone. InvalidArgument.
  absl::Status (*check)(const ConvertArgs& args);
  // Makes an example of every record of the inputs. DataLoss names the file, the record and its
  // place.
  absl::Status (*convert)(const ConvertArgs& args, const ExampleSink& write);
};

std::span<const ConvertKind> ConvertKinds();
// InvalidArgument when there is none of that name.
absl::StatusOr<const ConvertKind*> FindConvertKind(const std::string& name);

// Of kinds that take any number of files, one of which may be "-". InvalidArgument.
absl::Status CheckNamedFiles(const char* kind, const ConvertArgs& args);
// The bytes of a file, decompressed when it begins as GZIP does. What can be read only once, a pipe
// or standard input ("-"), is taken as it is.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenMaybeGzip(const std::string& path);

// ---- what the rows of the table point to, by file

// idx.cc
absl::Status CheckIdx(const ConvertArgs& args);
// That of one image of the pair: height and width, or what else the file has.
absl::StatusOr<std::vector<int64_t>> IdxImageShape(const ConvertArgs& args);
absl::Status ConvertIdx(const ConvertArgs& args, const ExampleSink& write);
// csv.cc
absl::Status CheckCsv(const ConvertArgs& args);
absl::Status ConvertCsv(const ConvertArgs& args, const ExampleSink& write);
// cifar.cc
absl::Status CheckCifar(const ConvertArgs& args);
absl::Status ConvertCifar(const ConvertArgs& args, const ExampleSink& write);
// text.cc
absl::Status CheckText(const ConvertArgs& args);
absl::Status ConvertText(const ConvertArgs& args, const ExampleSink& write);
// synthetic.cc
absl::Status CheckSynthetic(const ConvertArgs& args);
absl::Status ConvertSynthetic(const ConvertArgs& args, const ExampleSink& write);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_CONVERT_H_
