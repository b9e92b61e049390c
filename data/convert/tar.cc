#include "data/convert/tar.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using std::string_view_literals::operator""sv;

constexpr uint64_t kTarBlock = 512;
// Of the long names and pax records of one file, which others than images have.
constexpr uint64_t kMaxTarExtension = 1 << 20;

using TarBlock = std::array<char, kTarBlock>;

// Fields of a header: begin and size in bytes.
struct TarField {
  size_t begin, size;
};
constexpr TarField kTarName = {0, 100};
constexpr TarField kTarSize = {124, 12};
constexpr TarField kTarChecksum = {148, 8};
constexpr TarField kTarType = {156, 1};
constexpr TarField kTarMagic = {257, 6};  // "ustar\0" of POSIX, "ustar " of GNU
constexpr TarField kTarPrefix = {345, 155};

std::string_view FieldBytes(const TarBlock& block, const TarField& field) {
  return std::string_view(block.data(), block.size()).substr(field.begin, field.size);
}

std::string_view FieldText(const TarBlock& block, const TarField& field) {
  const std::string_view bytes = FieldBytes(block, field);
  return bytes.substr(0, bytes.find('\0'));
}

// Octal digits between blanks and zeros; or, with the first bit set, a number of big-endian bytes.
std::optional<uint64_t> FieldNumber(const TarBlock& block, const TarField& field) {
  std::string_view bytes = FieldBytes(block, field);
  uint64_t value = 0;
  if (bytes.front() == '\x80') {
    for (const char c : bytes.substr(1)) {
      if (value >> 56 != 0) return std::nullopt;
      value = value << 8 | static_cast<uint8_t>(c);
    }
    return value;
  }
  while (bytes.starts_with(' ')) bytes.remove_prefix(1);
  bytes = bytes.substr(0, bytes.find_first_of(" \0"sv));
  for (const char c : bytes) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');  // 12 digits at most
  }
  return value;
}

// The sum of the bytes, with blanks in place of the sum. Some old programs added signed bytes.
bool HasChecksum(const TarBlock& block) {
  const std::optional<uint64_t> want = FieldNumber(block, kTarChecksum);
  int64_t sum = 0, signed_sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool of_sum = i - kTarChecksum.begin < kTarChecksum.size;
    const char c = of_sum ? ' ' : block[i];
    sum += static_cast<uint8_t>(c);
    signed_sum += static_cast<int8_t>(c);
  }
  if (!want.has_value()) return false;
  const auto wanted = static_cast<int64_t>(*want);
  return sum == wanted || signed_sum == wanted;
}

class TarReader {
 public:
  TarReader(const RandomAccessFile& file, const FileRange& range)
      : file_(file), begin_(range.offset), end_(range.offset + range.size), next_(range.offset) {}

  absl::StatusOr<std::vector<TarMember>> List() {
    std::vector<TarMember> members;
    while (true) {
      TarBlock block;
      ASSIGN_OR_RETURN(const bool found, ReadHeader(&block));
      if (!found) return members;
      const char type = FieldBytes(block, kTarType).front();
      FileRange data = {.offset = next_};
      ASSIGN_OR_RETURN(data.size, DataSize(block, type));
      RETURN_IF_ERROR(Pass(data.size));
      if (IsExtension(type)) {
        RETURN_IF_ERROR(ReadExtension(type, data));
        continue;
      }
      std::string name = long_name_.value_or(NameOf(block));
      if (type == '1' || type == '2') {
        return Wrong(header_, Quote(name),
                     " is a link, want a file: pack with tar --dereference --hard-dereference");
      }
      // Files of the oldest form whose names end in a slash are folders.
      const bool regular = type == '0' || type == '\0' || type == '7';
      if (regular && !name.ends_with('/')) members.push_back({std::move(name), data});
      long_name_.reset();
      long_size_.reset();
    }
  }

 private:
  template <typename... T>
  absl::Status Wrong(uint64_t offset, const T&... what) const {
    return absl::DataLossError(absl::StrCat(file_.path(), ": ", what..., " (offset ", offset, ")"));
  }

  // Reads the header at next_. False at the end mark.
  absl::StatusOr<bool> ReadHeader(TarBlock* block) {
    header_ = next_;
    if (next_ == begin_ && end_ == begin_) return Wrong(next_, "not a tar archive: it is empty");
    if (end_ - next_ < kTarBlock) {
      return Wrong(next_, "a truncated tar archive: it ends without its end mark");
    }
    RETURN_IF_ERROR(file_.ReadAt(next_, block->data(), block->size()));
    if (std::all_of(block->begin(), block->end(), [](char c) { return c == 0; })) return false;
    if (!HasChecksum(*block)) {
      if (next_ > begin_) return Wrong(next_, "a damaged tar archive: a header with a wrong sum");
      const bool gzip = FieldBytes(*block, {0, 2}) == "\x1f\x8b"sv;
      return Wrong(next_, "not a tar archive: it begins with ",
                   Quote(std::string(FieldBytes(*block, {0, 8}))),
                   gzip ? ", as a compressed file does; decompress it first" : "");
    }
    next_ += kTarBlock;
    return true;
  }

  static bool IsExtension(char type) {
    return type == 'x' || type == 'g' || type == 'L' || type == 'K';
  }

  absl::StatusOr<uint64_t> DataSize(const TarBlock& block, char type) const {
    // Links, devices, folders and pipes have no data, whatever their header says.
    if (type >= '1' && type <= '6') return 0;
    if (type == 'S' || type == 'M') return InPieces();
    const std::optional<uint64_t> size = FieldNumber(block, kTarSize);
    if (!size.has_value()) {
      return Wrong(header_, "a damaged tar archive: the size of a file is ",
                   Quote(std::string(FieldBytes(block, kTarSize))));
    }
    return IsExtension(type) ? *size : long_size_.value_or(*size);
  }

  absl::Status InPieces() const {
    return Wrong(header_,
                 "a file that is stored in pieces (sparse, or of several volumes), want "
                 "an archive of whole files");
  }

  // Goes to the header after data of so many bytes.
  absl::Status Pass(uint64_t size) {
    const uint64_t left = end_ - next_;
    const uint64_t padding = (kTarBlock - size % kTarBlock) % kTarBlock;
    if (size > left || padding > left - size) {
      return Wrong(header_, "a truncated tar archive: it ends ", left,
                   " bytes after the header of a file of ", size, " bytes");
    }
    next_ += size + padding;
    return absl::OkStatus();
  }

  static std::string NameOf(const TarBlock& block) {
    const std::string_view name = FieldText(block, kTarName);
    const std::string_view prefix = FieldText(block, kTarPrefix);
    const bool posix = FieldBytes(block, kTarMagic) == "ustar\0"sv;
    if (!posix || prefix.empty()) return std::string(name);
    return absl::StrCat(ToAbsl(prefix), "/", ToAbsl(name));
  }

  // What is said of the next file: its name, and its size.
  absl::Status ReadExtension(char type, const FileRange& data) {
    if (type == 'g' || type == 'K') return absl::OkStatus();  // of all files; of a link
    if (data.size > kMaxTarExtension) {
      return Wrong(header_, "a damaged tar archive: a name of ", data.size, " bytes");
    }
    std::string bytes(data.size, '\0');
    RETURN_IF_ERROR(file_.ReadAt(data.offset, bytes.data(), bytes.size()));
    if (type == 'x') return ReadPaxRecords(bytes);
    long_name_ = bytes.substr(0, bytes.find('\0'));
    return absl::OkStatus();
  }

  // Records "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.
  absl::Status ReadPaxRecords(std::string_view rest) {
    while (!rest.empty()) {
      const size_t blank = std::min(rest.find(' '), rest.size());
      const int64_t length = ParseInt64(rest.substr(0, blank)).value_or(0);
      if (length <= static_cast<int64_t>(blank) + 1 || length > static_cast<int64_t>(rest.size()) ||
          rest[length - 1] != '\n') {
        return WrongPax(rest);
      }
      const std::string_view record = rest.substr(blank + 1, length - blank - 2);
      const size_t equals = record.find('=');
      if (equals == std::string_view::npos) return WrongPax(rest);
      const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key.starts_with("GNU.sparse.")) return InPieces();
      if (key == "path") long_name_ = value;
      if (key == "size") {
        const std::optional<int64_t> size = ParseInt64(value);
        if (size.value_or(-1) < 0) return WrongPax(rest);
        long_size_ = *size;
      }
      rest.remove_prefix(length);
    }
    return absl::OkStatus();
  }

  absl::Status WrongPax(std::string_view rest) const {
    return Wrong(header_, "a damaged tar archive: a pax record ",
                 Quote(std::string(rest.substr(0, 20))));
  }

  const RandomAccessFile& file_;
  const uint64_t begin_, end_;  // of the archive
  uint64_t next_;               // offset of the next header
  uint64_t header_ = 0;         // offset of the last one
  // What extensions say of the next file.
  std::optional<std::string> long_name_;
  std::optional<uint64_t> long_size_;
};

}  // namespace

absl::StatusOr<std::vector<TarMember>> ListTar(const RandomAccessFile& file,
                                               const FileRange& range) {
  return TarReader(file, range).List();
}

}  // namespace tpurun
