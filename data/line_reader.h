// LineReader: the lines of a file, without their ends ("\n", "\r\n" or the end of the file).
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

// Before the first line of a UTF-8 file of some programs; no part of it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class LineReader {
 public:
  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // Returns the next line, valid until the next call. False at the end. DataLoss as CheckEncoding.
  absl::StatusOr<bool> Read(std::string_view* line);
  // True if CR LF, not LF, ended the line.
  bool ended_with_cr_lf() const { return ended_with_cr_lf_; }

 private:
  // Moves the unread bytes to the front of the buffer and reads after them.
  absl::Status ReadMore();

  const std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t next_ = 0;  // buffer_[next_, end_) is not returned yet
  size_t end_ = 0;
  bool at_end_ = false;
  bool is_first_ = true;  // no line has been read
  bool ended_with_cr_lf_ = false;
};

// DataLoss for the first bytes of a file that is UTF-16 or UTF-32, by its byte order mark.
absl::Status CheckEncoding(std::string_view start);

// After the name of what is read, where texts must be UTF-8.
inline constexpr char kNotUtf8[] =
    "is not UTF-8: iconv -f ISO-8859-1 -t UTF-8 converts a text of Western Europe";

// DataLoss for a line that contains a CR: lines that end with CR alone are read as one line. For
// skipped lines no other check would notice this.
absl::Status CheckLineEnds(std::string_view line);

// Reads the lines of a vocabulary, a regular file with at least one line. NotFound, prefixed with
// `where`, the place of the file's name. DataLoss if the file has no lines or cannot be read as
// lines.
absl::StatusOr<std::vector<std::string>> ReadVocabularyLines(const std::string& path,
                                                             const std::string& where);

}  // namespace tpurun

#endif  // TPURUN_DATA_LINE_READER_H_
