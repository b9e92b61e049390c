// Writers for predict's rows or generated text: to standard output, a file of JSON lines, TFRecords
// of tf.Example, or a text file.
#ifndef TPURUN_CLI_PREDICTION_WRITER_H_
#define TPURUN_CLI_PREDICTION_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/estimator/estimator.h"

namespace tpurun {

class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  virtual absl::Status Write(const PredictedBatch& batch) = 0;
  // Call after the last batch. Only then does a file get its name.
  virtual absl::Status Finish() = 0;
};

// `output` empty: standard output, flushed after each batch. Else FILE.jsonl or FILE.tfrecord,
// chosen by the extension. InvalidArgument for another extension, and for one of the files
// `inputs`, which are read during the prediction. An interrupt that ends the process removes the
// unfinished file. Unfinished files of this output that killed processes left are removed now.
absl::StatusOr<std::unique_ptr<PredictionWriter>> MakePredictionWriter(
    const std::string& output, const std::vector<std::string>& inputs);

// Writes one text that arrives in pieces: one row with the single column "text". Memory does not
// grow with the text, except for a record.
class TextWriter {
 public:
  // Without Finish, after an error: ends the line on standard output, or removes the file.
  virtual ~TextWriter() = default;
  // `piece` is UTF-8. On standard output it is visible at once.
  virtual absl::Status Write(std::string_view piece) = 0;
  // Call after the last piece. Only then does a file get its name.
  virtual absl::Status Finish() = 0;
};

// Like MakePredictionWriter; in addition FILE.txt gets the text as it is. InvalidArgument for a
// FILE.tfrecord if one record cannot hold `max_characters` characters.
absl::StatusOr<std::unique_ptr<TextWriter>> MakeTextWriter(const std::string& output,
                                                           const std::vector<std::string>& inputs,
                                                           int64_t max_characters);

}  // namespace tpurun

#endif  // TPURUN_CLI_PREDICTION_WRITER_H_
