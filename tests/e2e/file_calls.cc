// Stands before the C library (LD_PRELOAD): a process' calls to the files of one folder, logged in
// the order in which they happened, with one of them ending the process or failing. The calls go
// straight to the system. What the C library does of itself (opendir, glob, fopen) is not seen.
//
// The environment says what to do:
//   FILE_CALLS_BELOW   the folder, as realpath has it; calls to other files pass untouched
//   FILE_CALLS_LOG     appended to, a record a call:
//                        NUMBER \t KIND \t RESULT \t DETAIL \t PATH [\t NEW PATH] \n
//                      RESULT is what the call returned, or -errno. DETAIL is the flags of an open
//                      and the offset of a pwrite (-1: a write, where the file is at). After a
//                      write come its RESULT bytes and \n.
//   FILE_CALLS_KINDS   the kinds that are numbered, from 1, separated by commas (without: all);
//                      others are logged with number 0. See kKinds.
//   FILE_CALLS_AT      the number of the call that something happens to
//   FILE_CALLS_DO      kill: SIGKILL before the call
//                      killed: SIGKILL after it
//                      fail ERRNO: it does nothing and fails
//                      break ERRNO: so do all that are numbered from there on
//                      short BYTES: it reads or writes no more than these, at least one
//                      half: it reads or writes half
#undef _FORTIFY_SOURCE  // would define some of these functions inline
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace {

enum Kind {
  kOpen,
  kCreate,
  kRead,
  kWrite,
  kFsync,
  kRename,
  kUnlink,
  kRmdir,
  kMkdir,
  kTruncate,
  kLink,
  kUtime,
  kClose,
  kNumKinds
};
// An open that may write is a create.
constexpr const char* kKinds[kNumKinds] = {"open",   "create", "read",  "write", "fsync",
                                           "rename", "unlink", "rmdir", "mkdir", "truncate",
                                           "link",   "utime",  "close"};

enum class Act { kNothing, kKill, kKilled, kFail, kBreak, kShort, kHalf };

// Set before main, then read only, but for `calls`.
struct {
  char below[PATH_MAX] = {};
  int log = -1;
  bool numbered[kNumKinds] = {};
  long at = 0;
  Act act = Act::kNothing;
  long argument = 0;
  long calls = 0;
} state;
// Held over a call and its record, so that the log has the order of the calls.
std::mutex mutex;

bool Lists(const char* names, const char* name) {
  const size_t size = strlen(name);
  for (const char* at = names; (at = strstr(at, name)) != nullptr; at += size) {
    const bool starts = at == names || at[-1] == ',';
    if (starts && (at[size] == ',' || at[size] == '\0')) return true;
  }
  return false;
}

Act ParseAct(const char* text, long* argument) {
  if (strcmp(text, "kill") == 0) return Act::kKill;
  if (strcmp(text, "killed") == 0) return Act::kKilled;
  if (strcmp(text, "half") == 0) return Act::kHalf;
  if (sscanf(text, "fail %ld", argument) == 1) return Act::kFail;
  if (sscanf(text, "break %ld", argument) == 1) return Act::kBreak;
  if (sscanf(text, "short %ld", argument) == 1) return Act::kShort;
  return Act::kNothing;
}

__attribute__((constructor)) void ReadEnvironment() {
  const char* const below = getenv("FILE_CALLS_BELOW");
  if (below == nullptr) return;
  snprintf(state.below, sizeof state.below, "%s", below);
  const char* const kinds = getenv("FILE_CALLS_KINDS");
  for (int kind = 0; kind < kNumKinds; ++kind) {
    state.numbered[kind] = kinds == nullptr || Lists(kinds, kKinds[kind]);
  }
  if (const char* const at = getenv("FILE_CALLS_AT")) state.at = atol(at);
  if (const char* const act = getenv("FILE_CALLS_DO")) state.act = ParseAct(act, &state.argument);
  if (const char* const log = getenv("FILE_CALLS_LOG")) {
    state.log = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  // An unknown name must not pass for a run without faults.
  const bool acts = state.at == 0 || state.act != Act::kNothing;
  if (!acts || (getenv("FILE_CALLS_LOG") != nullptr && state.log < 0)) abort();
}

// A file's name as the system has it; empty when it has none. Leaves errno alone.
class Name {
 public:
  explicit Name(int fd) { Resolve(fd); }
  // The name in `dir`, which need not exist: its folder is looked up.
  Name(int dir, const char* path) {
    if (state.below[0] == '\0' || path == nullptr) return;
    const int error = errno;
    const char* const slash = strrchr(path, '/');
    const char* const base = slash == nullptr ? path : slash + 1;
    const bool whole = *base == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0;
    char folder[PATH_MAX];
    const int size = whole ? strlen(path) : base - path;
    snprintf(folder, sizeof folder, "%.*s", size, path);
    const int fd = syscall(SYS_openat, dir, size == 0 ? "." : folder, O_PATH | O_CLOEXEC);
    if (fd >= 0) {
      Resolve(fd);
      syscall(SYS_close, fd);
      const size_t length = strlen(text_);
      if (!whole) snprintf(text_ + length, sizeof text_ - length, "/%s", base);
    }
    errno = error;
  }

  const char* text() const { return text_; }
  bool counts() const {
    const size_t size = strlen(state.below);
    return size > 0 && strncmp(text_, state.below, size) == 0 &&
           (text_[size] == '/' || text_[size] == '\0');
  }

 private:
  void Resolve(int fd) {
    if (state.below[0] == '\0') return;
    const int error = errno;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const long size = syscall(SYS_readlinkat, AT_FDCWD, link, text_, sizeof text_ - 1);
    text_[size < 0 ? 0 : size] = '\0';
    errno = error;
  }

  char text_[2 * PATH_MAX] = {};
};

void WriteLog(const void* bytes, size_t size) {
  if (syscall(SYS_write, state.log, bytes, size) != static_cast<long>(size)) abort();
}

struct Call {
  Kind kind;
  const Name& name;
  long detail = 0;
  const Name* to = nullptr;     // rename, link
  const void* bytes = nullptr;  // write
  size_t size = 0;              // read, write
};

void Record(const Call& call, long number, long result) {
  if (state.log < 0) return;
  char line[6 * PATH_MAX];
  const int size =
      snprintf(line, sizeof line, "%ld\t%s\t%ld\t%ld\t%s%s%s\n", number, kKinds[call.kind], result,
               call.detail, call.name.text(), call.to != nullptr ? "\t" : "",
               call.to != nullptr ? call.to->text() : "");
  WriteLog(line, size);
  if (call.kind != kWrite || result < 0) return;
  WriteLog(call.bytes, result);
  WriteLog("\n", 1);
}

[[noreturn]] void Kill() {
  while (true) syscall(SYS_kill, getpid(), SIGKILL);
}

// Does a call: system(size) is it, with no more than `size` bytes to read or write.
template <typename System>
long Do(const Call& call, System system) {
  const bool counts = call.name.counts() || (call.to != nullptr && call.to->counts());
  if (!counts) return system(call.size);
  const std::lock_guard<std::mutex> lock(mutex);
  const long number = state.numbered[call.kind] ? ++state.calls : 0;
  const bool here = number > 0 && number == state.at;
  if (here && state.act == Act::kKill) Kill();
  size_t size = call.size;
  if (here && state.act == Act::kShort) size = std::min<size_t>(size, state.argument);
  if (here && state.act == Act::kHalf) size = (size + 1) / 2;
  const bool broken = state.act == Act::kBreak && number > 0 && number >= state.at;
  long result = -1;
  if (broken || (here && state.act == Act::kFail)) {
    errno = state.argument;
  } else {
    result = system(size);
  }
  const int error = errno;
  Record(call, number, result < 0 ? -error : result);
  if (here && state.act == Act::kKilled) Kill();
  errno = error;
  return result;
}

long Open(int dir, const char* path, int flags, mode_t mode) {
  const bool may_write = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;
  return Do({.kind = may_write ? kCreate : kOpen, .name = Name(dir, path), .detail = flags},
            [&](size_t) { return syscall(SYS_openat, dir, path, flags, mode); });
}

long Rename(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  const Name new_name(to_dir, to);
  return Do({.kind = kRename, .name = Name(from_dir, from), .detail = long(flags), .to = &new_name},
            [&](size_t) { return syscall(SYS_renameat2, from_dir, from, to_dir, to, flags); });
}

// Several buffers are one call, which may end inside any of them: they are made one.
template <typename System>
ssize_t WriteVector(int fd, const iovec* buffers, int count, System system) {
  const Name name(fd);
  if (!name.counts()) return system();
  static char joined[1 << 20];
  static std::mutex joining;
  const std::lock_guard<std::mutex> lock(joining);
  size_t size = 0;
  for (int i = 0; i < count && size < sizeof joined; ++i) {
    const size_t part = std::min(buffers[i].iov_len, sizeof joined - size);
    memcpy(joined + size, buffers[i].iov_base, part);
    size += part;
  }
  return Do({.kind = kWrite, .name = name, .detail = -1, .bytes = joined, .size = size},
            [&](size_t limit) { return syscall(SYS_write, fd, joined, limit); });
}

}  // namespace

extern "C" {

int openat(int dir, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = has_mode ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return Open(dir, path, flags, mode);
}
int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = has_mode ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return Open(AT_FDCWD, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return Open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
// On x86-64 off_t has 64 bits: these are the same. The fortified names are what calls become in
// code compiled with _FORTIFY_SOURCE.
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
int creat64(const char*, mode_t) __attribute__((alias("creat")));
int __open_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }
int __open64_2(const char*, int) __attribute__((alias("__open_2")));
int __openat_2(int dir, const char* path, int flags) { return Open(dir, path, flags, 0); }
int __openat64_2(int, const char*, int) __attribute__((alias("__openat_2")));

ssize_t read(int fd, void* bytes, size_t size) {
  return Do({.kind = kRead, .name = Name(fd), .detail = -1, .size = size},
            [&](size_t limit) { return syscall(SYS_read, fd, bytes, limit); });
}
ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  return Do({.kind = kRead, .name = Name(fd), .detail = offset, .size = size},
            [&](size_t limit) { return syscall(SYS_pread64, fd, bytes, limit, offset); });
}
ssize_t pread64(int, void*, size_t, off_t) __attribute__((alias("pread")));
ssize_t __read_chk(int fd, void* bytes, size_t size, size_t) { return read(fd, bytes, size); }
ssize_t __pread_chk(int fd, void* bytes, size_t size, off_t offset, size_t) {
  return pread(fd, bytes, size, offset);
}
ssize_t __pread64_chk(int, void*, size_t, off_t, size_t) __attribute__((alias("__pread_chk")));

ssize_t write(int fd, const void* bytes, size_t size) {
  return Do({.kind = kWrite, .name = Name(fd), .detail = -1, .bytes = bytes, .size = size},
            [&](size_t limit) { return syscall(SYS_write, fd, bytes, limit); });
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return Do({.kind = kWrite, .name = Name(fd), .detail = offset, .bytes = bytes, .size = size},
            [&](size_t limit) { return syscall(SYS_pwrite64, fd, bytes, limit, offset); });
}
ssize_t pwrite64(int, const void*, size_t, off_t) __attribute__((alias("pwrite")));
ssize_t writev(int fd, const iovec* buffers, int count) {
  return WriteVector(fd, buffers, count, [&] { return syscall(SYS_writev, fd, buffers, count); });
}

int fsync(int fd) {
  return Do({.kind = kFsync, .name = Name(fd)}, [&](size_t) { return syscall(SYS_fsync, fd); });
}
int fdatasync(int fd) {
  return Do({.kind = kFsync, .name = Name(fd)}, [&](size_t) { return syscall(SYS_fdatasync, fd); });
}

int rename(const char* from, const char* to) noexcept {
  return Rename(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_dir, const char* from, int to_dir, const char* to) noexcept {
  return Rename(from_dir, from, to_dir, to, 0);
}
int renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) noexcept {
  return Rename(from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir, const char* path, int flags) noexcept {
  return Do({.kind = (flags & AT_REMOVEDIR) != 0 ? kRmdir : kUnlink, .name = Name(dir, path)},
            [&](size_t) { return syscall(SYS_unlinkat, dir, path, flags); });
}
int unlink(const char* path) noexcept { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int dir, const char* path, mode_t mode) noexcept {
  return Do({.kind = kMkdir, .name = Name(dir, path)},
            [&](size_t) { return syscall(SYS_mkdirat, dir, path, mode); });
}
int mkdir(const char* path, mode_t mode) noexcept { return mkdirat(AT_FDCWD, path, mode); }

int ftruncate(int fd, off_t size) noexcept {
  return Do({.kind = kTruncate, .name = Name(fd), .detail = size},
            [&](size_t) { return syscall(SYS_ftruncate, fd, size); });
}
int ftruncate64(int, off_t) noexcept __attribute__((alias("ftruncate")));

int linkat(int from_dir, const char* from, int to_dir, const char* to, int flags) noexcept {
  const Name new_name(to_dir, to);
  return Do({.kind = kLink, .name = Name(from_dir, from), .to = &new_name},
            [&](size_t) { return syscall(SYS_linkat, from_dir, from, to_dir, to, flags); });
}
int link(const char* from, const char* to) noexcept {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int utimensat(int dir, const char* path, const timespec times[2], int flags) noexcept {
  return Do({.kind = kUtime, .name = Name(dir, path)},
            [&](size_t) { return syscall(SYS_utimensat, dir, path, times, flags); });
}
int futimens(int fd, const timespec times[2]) noexcept {
  return Do({.kind = kUtime, .name = Name(fd)},
            [&](size_t) { return syscall(SYS_utimensat, fd, nullptr, times, 0); });
}

int close(int fd) {
  return Do({.kind = kClose, .name = Name(fd)}, [&](size_t) { return syscall(SYS_close, fd); });
}

}  // extern "C"
