// Files and directories: reading, writing so that a reader sees all or nothing, listing.
// Errors name the path and the system's reason. What cannot be read is NotFound (absent, no
// permission, a directory, a device that fails); what cannot be written is PermissionDenied
// (permission, full disk, read-only, no such directory). DataLoss is for what the bytes show.
#ifndef TPURUN_RUNTIME_IO_FILE_H_
#define TPURUN_RUNTIME_IO_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/directory.h"

namespace tpurun {

// ---- Paths (text only, nothing is looked up) ----

// "a", "b" -> "a/b"; an absolute `name` stays as it is, an empty `dir` adds nothing.
std::string JoinPath(std::string_view dir, std::string_view name);
// "a/b" -> "a"; "/b" -> "/"; "b" -> "".
std::string DirName(std::string_view path);
// "a/b" -> "b".
std::string BaseName(std::string_view path);

// ---- What is there ----

bool FileExists(const FilePath& path);
// That nothing is there is certain, and something may be made there: not so where one may not look,
// or below a file.
bool IsAbsent(const FilePath& path);
bool IsDirectory(const std::string& path);
absl::StatusOr<uint64_t> FileSize(const std::string& path);
// The name of the file that a new one is to replace: symbolic links are followed, for a rename
// would replace the link. PermissionDenied when something other than a regular file is there, or
// one that is standard output; InvalidArgument when it is one of the files that are read for it.
absl::StatusOr<FilePath> ReplaceableFile(const FilePath& path,
                                         const std::vector<std::string>& inputs = {});
// Names in the directory without "." and "..", sorted by byte.
absl::StatusOr<std::vector<std::string>> ListDirectory(const FilePath& dir);
// Paths that match a shell pattern (* ? [..]), sorted by byte. A pattern that matches nothing is
// NotFound; one without special characters must exist.
absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern);

// ---- Changes ----

// The directory, and those above it that are missing, durably where those may be read. Other
// processes may make and remove the same ones meanwhile.
absl::Status MakeDirectories(const std::string& path);
// An absent file is not an error.
absl::Status RemoveFile(const FilePath& path);
// Makes the names in the directory durable.
absl::Status SyncDirectory(const FilePath& dir);

// ---- Whole files ----

// A regular file: anything else (/dev/zero, a pipe that nobody writes to) is refused at once, and
// so is a file of more than `max_bytes`, with DataLoss.
absl::StatusOr<std::string> ReadFile(const FilePath& path, uint64_t max_bytes = INT64_MAX);
// The file holds the old bytes or the new ones at every moment, also across a power cut: written
// under a temporary name in the same directory, fsynced, renamed, directory fsynced. After an error
// the old file is untouched, unless only the last of these failed, and the temporary one removed,
// as are those that killed writers of the same file left. See ReplaceableFile; OutputFile does the
// same piece by piece.
absl::Status WriteFileAtomically(const FilePath& path, std::string_view bytes);
// The temporary name used for `path`: one a path and process, so that a crashed writer leaves at
// most a few behind; hidden, so that a glob does not find them.
std::string TemporaryName(const std::string& path);
FilePath TemporaryName(const FilePath& path);
// Removes the temporary files that killed writers left in the directory: those whose final names
// `of` accepts, or all. What a running process writes through OutputFile stays; other temporary
// files are told from leftovers by nothing, so nobody else may be writing such.
absl::Status RemoveTemporaryFiles(const FilePath& dir,
                                  const std::function<bool(const std::string& name)>& of = nullptr);

// ---- Streams ----

// What FileSource::Open opens under this name is standard input.
inline constexpr char kStandardInput[] = "-";
// The file as messages name it.
std::string FileTitle(const std::string& file);

// Bytes read from front to back. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` with up to `size` bytes; fewer only at the end, or before what cannot be read: then
  // the next call returns the error.
  virtual absl::StatusOr<size_t> Read(char* out, size_t size) = 0;
  // Passes over up to `size` bytes; returns how many there were.
  virtual absl::StatusOr<uint64_t> Skip(uint64_t size);
  // Bytes left, where that is known without reading them (not for compressed files or pipes).
  virtual std::optional<uint64_t> remaining() const { return std::nullopt; }
  // No more bytes than these are left, whatever is in them (not for pipes).
  virtual std::optional<uint64_t> remaining_at_most() const { return remaining(); }
};

// Read for whom an error matters more than the bytes before it: fewer than `size` only at the end.
absl::StatusOr<size_t> ReadFully(ByteSource& source, char* out, size_t size);

// All that is left of a source, which messages call `name`; DataLoss when that is more than
// `max_bytes`, of which no more are read than one.
absl::StatusOr<std::string> ReadAll(ByteSource& source, const std::string& name,
                                    uint64_t max_bytes);

// Bytes written from front to back. Not thread-safe.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
  // Hands what was appended to the system, where other processes can read it.
  virtual absl::Status Flush() = 0;
  // Flush, and then makes it durable.
  virtual absl::Status Sync() = 0;
  // Flush, and closes; nothing may be appended after it.
  virtual absl::Status Close() = 0;
};

// A buffered file from its start.
class FileSource : public ByteSource {
 public:
  // A file, device or pipe, for whose writer it waits, or kStandardInput.
  static absl::StatusOr<std::unique_ptr<FileSource>> Open(const FilePath& path);
  // A regular file, or refused at once.
  static absl::StatusOr<std::unique_ptr<FileSource>> OpenRegular(const FilePath& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  absl::StatusOr<size_t> Read(char* out, size_t size) override;
  absl::StatusOr<uint64_t> Skip(uint64_t size) override;
  std::optional<uint64_t> remaining() const override;

 private:
  FileSource(std::string path, int fd, std::optional<uint64_t> size);
  // Reads from the file itself until `size` bytes or the end.
  absl::StatusOr<size_t> ReadUnbuffered(char* out, size_t size);

  const std::string path_;
  const int fd_;
  const std::optional<uint64_t> size_;
  uint64_t position_ = 0;  // of the next byte that Read returns
  std::string buffer_;
  size_t buffer_next_ = 0;
  size_t buffer_end_ = 0;
};

// A string as a source, for tests and for bytes already in memory. Owns the string.
class StringSource : public ByteSource {
 public:
  explicit StringSource(std::string bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<size_t> Read(char* out, size_t size) override;
  absl::StatusOr<uint64_t> Skip(uint64_t size) override;
  std::optional<uint64_t> remaining() const override { return bytes_.size() - next_; }

 private:
  const std::string bytes_;
  size_t next_ = 0;
};

// A new or truncated file, buffered. The destructor closes without reporting errors: call Close.
class FileSink : public ByteSink {
 public:
  static absl::StatusOr<std::unique_ptr<FileSink>> Create(const FilePath& path);
  // AlreadyExists when there is one of that name.
  static absl::StatusOr<std::unique_ptr<FileSink>> CreateNew(const FilePath& path);
  // Takes the descriptor, which is open for writing; `path` is for messages.
  FileSink(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  absl::Status Append(std::string_view bytes) override;
  absl::Status Flush() override;
  absl::Status Sync() override;
  absl::Status Close() override;

 private:
  static absl::StatusOr<std::unique_ptr<FileSink>> Open(const FilePath& path, int flags);
  absl::Status WriteOut(std::string_view bytes);

  const std::string path_;
  int fd_;  // -1 once closed
  std::string buffer_;
};

// Appends to a string that the caller owns.
class StringSink : public ByteSink {
 public:
  explicit StringSink(std::string* bytes) : bytes_(bytes) {}
  absl::Status Append(std::string_view bytes) override {
    bytes_->append(bytes);
    return absl::OkStatus();
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  std::string* const bytes_;
};

// A regular file read at any place. Thread-safe.
class RandomAccessFile {
 public:
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Exactly `size` bytes from `offset`; DataLoss when the file ends before.
  absl::Status ReadAt(uint64_t offset, char* out, size_t size) const;

 private:
  RandomAccessFile(std::string path, int fd, uint64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}

  const std::string path_;
  const int fd_;
  const uint64_t size_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IO_FILE_H_
