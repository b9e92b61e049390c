// The sources, sinks and random access files of file.h.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"
#include "runtime/io/file_error.h"

namespace tpurun {
namespace {

// Large enough that system calls do not count, small enough to stay in a core's L2 cache.
constexpr size_t kBufferBytes = 256 << 10;
// What is read at once is not worth a copy through the buffer.
constexpr size_t kUnbufferedBytes = 64 << 10;

// Puts the size of an open file into *size, or nothing when it is not a regular file.
absl::Status FindSize(int fd, const std::string& path, std::optional<uint64_t>* size) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ReadError("cannot read", path, errno);
  if (S_ISDIR(info.st_mode)) return ReadError("cannot read", path, EISDIR);
  if (S_ISREG(info.st_mode)) *size = info.st_size;
  return absl::OkStatus();
}

absl::StatusOr<int> OpenAny(const FilePath& path, std::optional<uint64_t>* size) {
  const int fd =
      path.text() == kStandardInput
          ? dup(STDIN_FILENO)
          : TEMP_FAILURE_RETRY(openat(path.dir_fd(), path.name().c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return ReadError("cannot read", path.text(), errno);
  const absl::Status found = FindSize(fd, path.text(), size);
  if (found.ok()) return fd;
  close(fd);
  return found;
}

absl::StatusOr<int> OpenRegularFile(const FilePath& path, uint64_t* size) {
  // Without O_NONBLOCK a pipe would be waited for before it shows what it is.
  const int fd = TEMP_FAILURE_RETRY(
      openat(path.dir_fd(), path.name().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd < 0) return ReadError("cannot read", path.text(), errno);
  std::optional<uint64_t> found_size;
  absl::Status found = FindSize(fd, path.text(), &found_size);
  if (found.ok() && !found_size.has_value()) {
    found = absl::NotFoundError(absl::StrCat("cannot read ", path.text(),
                                             ": it is a device or a pipe, want a regular file"));
  }
  if (found.ok()) {
    *size = *found_size;
    return fd;
  }
  close(fd);
  return found;
}

}  // namespace

absl::StatusOr<uint64_t> ByteSource::Skip(uint64_t size) {
  std::string scratch(std::min<uint64_t>(size, kBufferBytes), '\0');
  uint64_t skipped = 0;
  while (skipped < size) {
    const size_t want = std::min<uint64_t>(size - skipped, scratch.size());
    ASSIGN_OR_RETURN(const size_t got, Read(scratch.data(), want));
    if (got == 0) break;
    skipped += got;
  }
  return skipped;
}

absl::StatusOr<size_t> ReadFully(ByteSource& source, char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    ASSIGN_OR_RETURN(const size_t got, source.Read(out + done, size - done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

absl::StatusOr<std::string> ReadAll(ByteSource& source, const std::string& name,
                                    uint64_t max_bytes) {
  // One byte more than expected, so that the end is seen with one read.
  const uint64_t expected = source.remaining().value_or(1 << 16);
  std::string bytes(std::min(expected, max_bytes) + 1, '\0');
  size_t size = 0;
  while (true) {
    ASSIGN_OR_RETURN(const size_t got, ReadFully(source, &bytes[size], bytes.size() - size));
    size += got;
    if (size > max_bytes) {
      return absl::DataLossError(
          absl::StrCat(name, " has more than ", max_bytes, " bytes, the most that is read"));
    }
    if (size < bytes.size()) break;
    bytes.resize(std::min<uint64_t>(bytes.size() * 2, max_bytes + 1));
  }
  bytes.resize(size);
  return bytes;
}

std::string FileTitle(const std::string& file) {
  return file == kStandardInput ? "standard input" : file;
}

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::Open(const FilePath& path) {
  std::optional<uint64_t> size;
  ASSIGN_OR_RETURN(const int fd, OpenAny(path, &size));
  // Standard input may be in the middle of a file: its size tells nothing.
  if (path.text() == kStandardInput) size.reset();
  return std::unique_ptr<FileSource>(new FileSource(FileTitle(path.text()), fd, size));
}

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::OpenRegular(const FilePath& path) {
  uint64_t size;
  ASSIGN_OR_RETURN(const int fd, OpenRegularFile(path, &size));
  return std::unique_ptr<FileSource>(new FileSource(path.text(), fd, size));
}

FileSource::FileSource(std::string path, int fd, std::optional<uint64_t> size)
    : path_(std::move(path)), fd_(fd), size_(size) {}

FileSource::~FileSource() { close(fd_); }

std::optional<uint64_t> FileSource::remaining() const {
  if (!size_.has_value()) return std::nullopt;
  return *size_ - std::min(*size_, position_);
}

absl::StatusOr<size_t> FileSource::ReadUnbuffered(char* out, size_t size) {
  size_t done = 0;
  while (done < size && (done == 0 || size_.has_value())) {
    const ssize_t got = read(fd_, out + done, size - done);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && done > 0) break;
    if (got < 0) return ReadError("cannot read", path_, errno);
    done += got;
  }
  return done;
}

absl::StatusOr<size_t> FileSource::Read(char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    if (buffer_next_ == buffer_end_) {
      if (done > 0 && !size_.has_value()) break;  // a pipe: more may be long in coming
      if (size - done >= kUnbufferedBytes) {
        const absl::StatusOr<size_t> got = ReadUnbuffered(out + done, size - done);
        if (!got.ok() && done == 0) return got.status();
        done += got.value_or(0);
        break;
      }
      if (buffer_.empty()) {
        buffer_.resize(std::min<uint64_t>(kBufferBytes, size_.value_or(kBufferBytes) + 1));
      }
      buffer_next_ = buffer_end_ = 0;
      const absl::StatusOr<size_t> got = ReadUnbuffered(buffer_.data(), buffer_.size());
      if (!got.ok() && done == 0) return got.status();
      buffer_end_ = got.value_or(0);
      if (buffer_end_ == 0) break;
    }
    const size_t take = std::min(size - done, buffer_end_ - buffer_next_);
    std::memcpy(out + done, buffer_.data() + buffer_next_, take);
    buffer_next_ += take;
    done += take;
  }
  position_ += done;
  return done;
}

absl::StatusOr<uint64_t> FileSource::Skip(uint64_t size) {
  const uint64_t buffered = buffer_end_ - buffer_next_;
  if (size <= buffered || !size_.has_value()) return ByteSource::Skip(size);
  const uint64_t take = std::min(size, *remaining());
  // remaining() may be less than what is buffered only if the file grew since it was opened.
  if (take < buffered) return ByteSource::Skip(size);
  buffer_next_ = buffer_end_ = 0;
  if (lseek(fd_, take - buffered, SEEK_CUR) < 0) return ReadError("cannot read", path_, errno);
  position_ += take;
  return take;
}

absl::StatusOr<size_t> StringSource::Read(char* out, size_t size) {
  const size_t take = std::min(size, bytes_.size() - next_);
  std::memcpy(out, bytes_.data() + next_, take);
  next_ += take;
  return take;
}

absl::StatusOr<uint64_t> StringSource::Skip(uint64_t size) {
  const uint64_t take = std::min<uint64_t>(size, bytes_.size() - next_);
  next_ += take;
  return take;
}

absl::StatusOr<std::unique_ptr<FileSink>> FileSink::Create(const FilePath& path) {
  return Open(path, O_TRUNC);
}

absl::StatusOr<std::unique_ptr<FileSink>> FileSink::CreateNew(const FilePath& path) {
  return Open(path, O_EXCL);
}

absl::StatusOr<std::unique_ptr<FileSink>> FileSink::Open(const FilePath& path, int flags) {
  const int fd = TEMP_FAILURE_RETRY(
      openat(path.dir_fd(), path.name().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (fd < 0 && errno == EEXIST) return absl::AlreadyExistsError(path.text());
  if (fd < 0) return WriteError("cannot write", path.text(), errno);
  return std::unique_ptr<FileSink>(new FileSink(path.text(), fd));
}

FileSink::~FileSink() {
  if (fd_ >= 0) Close().IgnoreError();
}

absl::Status FileSink::WriteOut(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError("cannot write", path_, errno);
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status FileSink::Append(std::string_view bytes) {
  if (fd_ < 0) return absl::InternalError(absl::StrCat("append to closed file ", path_));
  if (buffer_.size() + bytes.size() <= kBufferBytes) {
    buffer_.append(bytes);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Flush());
  if (bytes.size() >= kBufferBytes) return WriteOut(bytes);
  buffer_.assign(bytes);
  return absl::OkStatus();
}

absl::Status FileSink::Flush() {
  if (fd_ < 0 || buffer_.empty()) return absl::OkStatus();
  const absl::Status status = WriteOut(buffer_);
  // After a failed write the file's content is unknown: nothing is written twice.
  buffer_.clear();
  return status;
}

absl::Status FileSink::Sync() {
  RETURN_IF_ERROR(Flush());
  if (fd_ < 0) return absl::OkStatus();
  if (TEMP_FAILURE_RETRY(fsync(fd_)) != 0) return WriteError("cannot write", path_, errno);
  return absl::OkStatus();
}

absl::Status FileSink::Close() {
  if (fd_ < 0) return absl::OkStatus();
  const absl::Status flushed = Flush();
  const int rc = close(std::exchange(fd_, -1));
  if (!flushed.ok()) return flushed;
  // Some file systems report a full disk only here.
  if (rc != 0 && errno != EINTR) return WriteError("cannot write", path_, errno);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path) {
  uint64_t size;
  ASSIGN_OR_RETURN(const int fd, OpenRegularFile(path, &size));
  return std::unique_ptr<RandomAccessFile>(new RandomAccessFile(path, fd, size));
}

RandomAccessFile::~RandomAccessFile() { close(fd_); }

absl::Status RandomAccessFile::ReadAt(uint64_t offset, char* out, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd_, out + done, size - done, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ReadError("cannot read", path_, errno);
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": truncated: got ", done, " bytes, want ",
                                              size, " (offset ", offset, ")"));
    }
    done += got;
  }
  return absl::OkStatus();
}

}  // namespace tpurun
