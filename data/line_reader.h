// The lines of a file, without their ends ("\n" or "\r\n", or the end of the file).
#ifndef TPURUN_DATA_LINE_READER_H_
#define TPURUN_DATA_LINE_READER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/file.h"

namespace tpurun {

class LineReader {
 public:
  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // The next line, good until the next call; false at the end.
  absl::StatusOr<bool> Read(std::string_view* line);

 private:
  // Moves what is left to the front and reads behind it.
  absl::Status ReadMore();

  const std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t next_ = 0;  // buffer_[next_, end_) is not yet returned
  size_t end_ = 0;
  bool at_end_ = false;
};

// DataLoss for a line that has a CR within, as many lines that end with CR alone are one: of lines
// that are passed over unread nobody else would tell.
absl::Status CheckLineEnds(std::string_view line);

// The lines of a vocabulary, a regular file, of which there is at least one. NotFound, behind
// `where`, the place of its name; DataLoss.
absl::StatusOr<std::vector<std::string>> ReadVocabularyLines(const std::string& path,
                                                             const std::string& where);

}  // namespace tpurun

#endif  // TPURUN_DATA_LINE_READER_H_
