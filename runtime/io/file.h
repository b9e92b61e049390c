// Files and directories: reading, atomic writing and listing, and streams of bytes.
// Errors name the path and the reason of the system. A failed read is NotFound (absent, no
// permission, a directory, a device that fails). A failed write is PermissionDenied (permission,
// full disk, read-only, no such directory). DataLoss is for bytes that were read and are wrong.
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

// ---- Paths (text only, no access to the file system) ----

// "a", "b" -> "a/b". An absolute `name` stays unchanged, and an empty `dir` adds nothing.
std::string JoinPath(std::string_view dir, std::string_view name);
// "a/b" -> "a"; "/b" -> "/"; "b" -> "".
std::string DirName(std::string_view path);
// "a/b" -> "b".
std::string BaseName(std::string_view path);

// ---- Existing files ----

bool FileExists(const FilePath& path);
// True if the path certainly does not exist and could be created. False if a directory may not be
// searched, or if the path is below a file.
bool IsAbsent(const FilePath& path);
bool IsDirectory(const std::string& path);
absl::StatusOr<uint64_t> FileSize(const std::string& path);
// The file that a new file named `path` would replace. Symbolic links are followed, because a
// rename would replace the link itself. PermissionDenied if `path` exists and is not a regular file
// or is standard output. InvalidArgument if it is one of `inputs`, the files that are read to make
// it.
absl::StatusOr<FilePath> ReplaceableFile(const FilePath& path,
                                         const std::vector<std::string>& inputs = {});
// The names in the directory without "." and "..", sorted by byte.
absl::StatusOr<std::vector<std::string>> ListDirectory(const FilePath& dir);
// Paths that match a shell pattern (* ? [..]), sorted by byte. NotFound if the pattern matches
// nothing. A pattern without special characters must exist.
absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern);

// ---- Changes ----

// Makes the directory and its missing parents, durably if the parents may be read. Other processes
// may make and remove the same directories meanwhile. Appends those that this call made to `made`,
// if given, in that order, also when it fails.
absl::Status MakeDirectories(const std::string& path, std::vector<std::string>* made = nullptr);
// An absent file is not an error.
absl::Status RemoveFile(const FilePath& path);
// Makes the names in the directory durable.
absl::Status SyncDirectory(const FilePath& dir);

// ---- Whole files ----

// Reads a regular file. Anything else (/dev/zero, a pipe without a writer) is refused at once with
// NotFound. DataLoss if the file has more than `max_bytes` bytes.
absl::StatusOr<std::string> ReadFile(const FilePath& path, uint64_t max_bytes = INT64_MAX);
// The file holds the old bytes or the new bytes at every moment, also across a power cut: the bytes
// are written under a temporary name in the same directory and fsynced, the file is renamed, and
// the directory is fsynced. After an error the old file is unchanged, unless only the last step
// failed. The temporary file is then removed, and so are temporary files that killed writers of the
// same file left. See ReplaceableFile. OutputFile does the same piece by piece.
absl::Status WriteFileAtomically(const FilePath& path, std::string_view bytes);
// The temporary name for `path`. There is one name for each path and process, so that a crashed
// writer leaves few files. The name is hidden, so that a glob does not match it.
std::string TemporaryName(const std::string& path);
FilePath TemporaryName(const FilePath& path);
// Removes the temporary files that killed writers left in the directory: the ones whose final names
// `of` accepts, or all if `of` is nullptr. Files that a running process writes through OutputFile
// stay. Other temporary files cannot be told from leftovers, so no other process may be writing
// such files.
absl::Status RemoveTemporaryFiles(const FilePath& dir,
                                  const std::function<bool(const std::string& name)>& of = nullptr);

// ---- Streams ----

// FileSource::Open opens standard input under this name.
inline constexpr char kStandardInput[] = "-";
// The name of the file in messages.
std::string FileTitle(const std::string& file);

// Bytes read from front to back. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` with up to `size` bytes and returns their number. Fewer than `size` only at the end
  // of the source, before bytes that cannot be read (the next call then returns the error), and
  // where a pipe or a device has no more at the moment. 0 only at the end.
  virtual absl::StatusOr<size_t> Read(char* out, size_t size) = 0;
  // Skips up to `size` bytes. Returns the number of bytes skipped.
  virtual absl::StatusOr<uint64_t> Skip(uint64_t size);
  // Bytes left, if known without reading them (not for compressed files or pipes).
  virtual std::optional<uint64_t> remaining() const { return std::nullopt; }
  // An upper bound of the bytes left, whatever the content (not for pipes).
  virtual std::optional<uint64_t> remaining_at_most() const { return remaining(); }
};

// Like Read, but returns an error instead of the bytes before it. Fewer than `size` bytes only at
// the end.
absl::StatusOr<size_t> ReadFully(ByteSource& source, char* out, size_t size);

// All bytes left in a source, which messages call `name`. DataLoss if there are more than
// `max_bytes`; at most one byte more than `max_bytes` is then read.
absl::StatusOr<std::string> ReadAll(ByteSource& source, const std::string& name,
                                    uint64_t max_bytes);

// Bytes written from front to back. Not thread-safe.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
  // Passes the appended bytes to the system, where other processes can read them.
  virtual absl::Status Flush() = 0;
  // Flush, then makes the bytes durable.
  virtual absl::Status Sync() = 0;
  // Flush, then closes. Nothing may be appended afterwards.
  virtual absl::Status Close() = 0;
};

// A buffered file, read from its start.
class FileSource : public ByteSource {
 public:
  // Opens a file, a device, a pipe (waits for its writer) or kStandardInput.
  static absl::StatusOr<std::unique_ptr<FileSource>> Open(const FilePath& path);
  // Opens a regular file. Anything else is refused at once.
  static absl::StatusOr<std::unique_ptr<FileSource>> OpenRegular(const FilePath& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  absl::StatusOr<size_t> Read(char* out, size_t size) override;
  absl::StatusOr<uint64_t> Skip(uint64_t size) override;
  std::optional<uint64_t> remaining() const override;

 private:
  FileSource(std::string path, int fd, std::optional<uint64_t> size);
  // Reads from the file without the buffer until `size` bytes or the end; from a pipe or a device
  // what a single read gives.
  absl::StatusOr<size_t> ReadUnbuffered(char* out, size_t size);

  const std::string path_;
  const int fd_;
  const std::optional<uint64_t> size_;
  uint64_t position_ = 0;  // offset of the next byte that Read returns
  std::string buffer_;
  size_t buffer_next_ = 0;
  size_t buffer_end_ = 0;
};

// A source that reads a string, for tests and for bytes already in memory. Owns the string.
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

// A new or truncated file, buffered. The destructor closes the file without reporting errors: call
// Close.
class FileSink : public ByteSink {
 public:
  static absl::StatusOr<std::unique_ptr<FileSink>> Create(const FilePath& path);
  // AlreadyExists if a file of that name exists.
  static absl::StatusOr<std::unique_ptr<FileSink>> CreateNew(const FilePath& path);
  // Takes ownership of the descriptor, which is open for writing. `path` is for messages.
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

// A regular file with reads at any offset. Thread-safe.
class RandomAccessFile {
 public:
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Reads exactly `size` bytes from `offset`. DataLoss if the file ends before.
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
