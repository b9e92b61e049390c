#include "data/line_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr size_t kBlockBytes = 1 << 18;
// Longer than any line of text, shorter than what a binary file without line ends would cost.
constexpr size_t kMaxLineBytes = 16 << 20;

}  // namespace

absl::StatusOr<bool> LineReader::Read(std::string_view* line) {
  size_t searched = next_;
  while (true) {
    const void* const end = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (end != nullptr) {
      const size_t line_end = static_cast<const char*>(end) - buffer_.data();
      *line = std::string_view(buffer_).substr(next_, line_end - next_);
      next_ = line_end + 1;
      break;
    }
    searched = end_;
    if (at_end_) {
      if (next_ == end_) return false;
      *line = std::string_view(buffer_).substr(next_, end_ - next_);
      next_ = end_;
      break;
    }
    searched -= next_;
    RETURN_IF_ERROR(ReadMore());
  }
  if (is_first_) RETURN_IF_ERROR(CheckEncoding(*line));
  is_first_ = false;
  ended_with_cr_lf_ = !line->empty() && line->back() == '\r';
  if (ended_with_cr_lf_) line->remove_suffix(1);
  return true;
}

absl::Status CheckEncoding(std::string_view start) {
  using namespace std::string_view_literals;
  const char* encoding = nullptr;
  if (start.starts_with("\xff\xfe"sv) || start.starts_with("\xfe\xff"sv)) encoding = "UTF-16";
  if (start.starts_with("\xff\xfe\0\0"sv) || start.starts_with("\0\0\xfe\xff"sv))
    encoding = "UTF-32";
  if (encoding == nullptr) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("is ", encoding, ", want UTF-8: iconv -f ", encoding,
                                          " -t UTF-8 FILE >NEW_FILE converts it"));
}

absl::Status LineReader::ReadMore() {
  std::copy(buffer_.begin() + next_, buffer_.begin() + end_, buffer_.begin());
  end_ -= next_;
  next_ = 0;
  if (end_ > kMaxLineBytes) {
    return absl::DataLossError(
        absl::StrCat("a line of more than ", kMaxLineBytes >> 20, " MiB: is this a text file?"));
  }
  if (buffer_.size() - end_ < kBlockBytes) {
    buffer_.resize(std::max(buffer_.size() * 2, end_ + kBlockBytes));
  }
  ASSIGN_OR_RETURN(const size_t got, source_->Read(buffer_.data() + end_, buffer_.size() - end_));
  end_ += got;
  at_end_ = got == 0;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadVocabularyLines(const std::string& path,
                                                             const std::string& where) {
  const std::string what = absl::StrCat("the vocabulary ", path);
  const MemoryUse use(what, "use a smaller vocabulary_file");
  absl::StatusOr<std::unique_ptr<FileSource>> file = FileSource::OpenRegular(path);
  if (!file.ok()) return Annotate(file.status(), where);
  LineReader reader(*std::move(file));
  std::vector<std::string> lines;
  while (true) {
    std::string_view line;
    const absl::StatusOr<bool> found = reader.Read(&line);
    if (!found.ok()) return Annotate(found.status(), path);
    if (!*found) break;
    lines.emplace_back(line);
  }
  if (!lines.empty()) return lines;
  return absl::DataLossError(absl::StrCat(path, ": the vocabulary has no entries"));
}

absl::Status CheckLineEnds(std::string_view line) {
  if (line.find('\r') == std::string_view::npos) return absl::OkStatus();
  return absl::DataLossError(
      "lines that end with CR (\\r) alone, want LF or CR LF: tr '\\r' '\\n' makes them");
}

}  // namespace tpurun
