// `tpurun convert`: turns files of other formats, text or synthetic examples into tf.Examples. The
// kinds of conversion are a table.
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

// The file that `images` writes beside its output: the names of the classes, a line each, in the
// order of their labels.
inline constexpr char kClassesFile[] = "classes.txt";

struct ConvertArgs {
  // Input files. For synthetic: the subject to draw.
  std::vector<std::string> inputs;
  // csv: the features as column ranges, "NAME:bytes:0-63", "NAME:int64:64".
  std::vector<std::string> features;
  // csv, images: lines to skip at the start of every file.
  int64_t skip_lines = 0;
  // csv: what separates the columns.
  char delimiter = ',';
  // cifar: 10 or 100. nullopt: the size of each file tells.
  std::optional<int64_t> classes;
  // synthetic: the number of examples. synthetic, images, imagenet: the seed of the random numbers.
  std::optional<int64_t> examples;
  int64_t seed = 0;
  // synthetic pictures: pixels per side. nullopt: the subject's own default.
  std::optional<int64_t> size;
  // synthetic pictures: "JPEG" or "PNG", and the records are those of `images`. Empty: image_raw.
  std::string encode = {};
  // synthetic pictures without `encode`: each record has mask_raw, too.
  bool masks = false;
  // synthetic sentence_pairs, of sequence_length tokens each: the number of ids, and the most
  // masked tokens of a record.
  std::optional<int64_t> vocabulary_size;
  std::optional<int64_t> max_predictions;
  // text: the characters of a window, and the characters from the start of one window to the next
  // (default: sequence_length). The number of streams that the text is divided into (default: 1,
  // without the feature "start"). The vocabulary file; empty: the vocabulary of the inputs. The
  // prefix of the output; the vocabulary is written into the same directory.
  std::optional<int64_t> sequence_length;
  std::optional<int64_t> shift;
  std::optional<int64_t> streams;
  std::string vocabulary = {};
  // images, imagenet: the part of the images to write, in a random order that depends on `seed`, as
  // shares of their number. Default: all.
  std::optional<double> begin;
  std::optional<double> end;
  // imagenet, files: the synsets of flat files, and the synsets in the order of their labels.
  // imagenet, images: the boxes of the images. labelled texts: `labels` has those of the lines of
  // one file. Empty: none.
  std::string labels = {};
  std::string synsets = {};
  std::string bounding_boxes = {};
  std::string output = {};
  // Receives messages for the user that are not errors.
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
};

// Receives the examples in order. An error ends the conversion.
using ExampleSink = std::function<absl::Status(const tensorflow::Example& example)>;

class ExampleList;

struct ConvertKind {
  const char* name;
  // The flags of this kind that other kinds do not have.
  std::vector<const char*> flags = {};
  // True if the inputs are files.
  bool reads_files = true;
  // The file that the kind writes beside the output. Empty: none.
  const char* writes_beside = "";
  // Returns InvalidArgument if the arguments alone are wrong.
  absl::Status (*check)(const ConvertArgs& args);
  // Makes one example of every record of the inputs. DataLoss names the file, the record and its
  // place.
  absl::Status (*convert)(const ConvertArgs& args, const ExampleSink& write);
  // The same examples as a list, which ListedFiles writes. nullptr: they are not known beforehand.
  absl::StatusOr<std::unique_ptr<ExampleList>> (*list)(const ConvertArgs& args) = nullptr;
};

std::span<const ConvertKind> ConvertKinds();
// InvalidArgument if there is no kind of that name.
absl::StatusOr<const ConvertKind*> FindConvertKind(const std::string& name);

// For kinds that take any number of files, at most one of which is "-". InvalidArgument if the
// inputs are otherwise.
absl::Status CheckNamedFiles(const char* kind, const ConvertArgs& args);
// Returns the bytes of a file, decompressed if it begins with the GZIP magic. A pipe or standard
// input ("-") can be read only once and is returned as it is.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenMaybeGzip(const std::string& path);

// ---- the functions that the rows of the table point to, by file

// idx.cc
absl::Status CheckIdx(const ConvertArgs& args);
// Returns the shape of one image of the image and label files: height and width, or further
// dimensions if the file has them.
absl::StatusOr<std::vector<int64_t>> IdxImageShape(const ConvertArgs& args);
absl::Status ConvertIdx(const ConvertArgs& args, const ExampleSink& write);
// csv.cc
absl::Status CheckCsv(const ConvertArgs& args);
absl::Status ConvertCsv(const ConvertArgs& args, const ExampleSink& write);
// cifar.cc
absl::Status CheckCifar(const ConvertArgs& args);
absl::Status ConvertCifar(const ConvertArgs& args, const ExampleSink& write);
// images.cc
absl::Status CheckImages(const ConvertArgs& args);
absl::StatusOr<std::unique_ptr<ExampleList>> ListImages(const ConvertArgs& args);
absl::Status ConvertImages(const ConvertArgs& args, const ExampleSink& write);
// imagenet.cc
absl::Status CheckImagenet(const ConvertArgs& args);
absl::StatusOr<std::unique_ptr<ExampleList>> ListImagenet(const ConvertArgs& args);
absl::Status ConvertImagenet(const ConvertArgs& args, const ExampleSink& write);
// text.cc
absl::Status CheckText(const ConvertArgs& args);
absl::Status ConvertText(const ConvertArgs& args, const ExampleSink& write);
// labelled_texts.cc, for init
absl::Status CheckLabelledTexts(const ConvertArgs& args);
absl::Status ConvertLabelledTexts(const ConvertArgs& args, const ExampleSink& write);
// synthetic.cc
absl::Status CheckSynthetic(const ConvertArgs& args);
absl::Status ConvertSynthetic(const ConvertArgs& args, const ExampleSink& write);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_CONVERT_H_
