#include "tests/fuzz/targets.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "glog/logging.h"
#include "google/protobuf/stubs/logging.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

// Removed when the process ends by itself.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code none;
    const std::filesystem::path memory = "/dev/shm";
    path_ = (std::filesystem::is_directory(memory, none) ? memory
                                                         : std::filesystem::temp_directory_path()) /
            "tpurun_fuzz_XXXXXX";
    PCHECK(mkdtemp(path_.data()) != nullptr) << path_;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::span<const FuzzTarget> FuzzTargets() {
  static constexpr FuzzTarget kTargets[] = {
      {"checkpoint", FuzzCheckpoint},
      {"config", FuzzConfig},
      {"csv", FuzzCsv},
      {"events", FuzzEvents},
      {"example", FuzzExample},
      {"image", FuzzImage},
      {"init", FuzzInit},
      {"interleave", FuzzInterleave},
      {"json", FuzzJson},
      {"position", FuzzPosition},
      {"saved_model", FuzzSavedModel},
      {"tar", FuzzTar},
      {"tfrecord", FuzzTfrecord},
  };
  return kTargets;
}

absl::Status RunTarget(const FuzzTarget& target, std::string_view bytes) {
  google::protobuf::SetLogHandler(nullptr);  // it reports what does not parse
  absl::Status status = target.run(bytes);
  const int code = ExitCode(status);
  CHECK(code == 0 || code == 2 || code == 65 || code == 66) << target.name << ": " << status;
  CHECK(code == 0 || !status.message().empty()) << target.name << ": " << status;
  return status;
}

std::string ScratchPath(const std::string& name) {
  static const ScratchFolder folder;
  return folder.path() + "/" + name;
}

void WriteScratch(const std::string& name, std::string_view bytes) {
  const std::string path = ScratchPath(name);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  PCHECK(fd >= 0) << path;
  PCHECK(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) << path;
  close(fd);
}

uint8_t TakeByte(std::string_view* bytes) {
  if (bytes->empty()) return 0;
  const uint8_t byte = bytes->front();
  bytes->remove_prefix(1);
  return byte;
}

}  // namespace tpurun
