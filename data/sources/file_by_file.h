// FileByFile: a SourceReader that reads its files one after the other, each to its end.
#ifndef TPURUN_DATA_SOURCES_FILE_BY_FILE_H_
#define TPURUN_DATA_SOURCES_FILE_BY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/records.h"

namespace tpurun {

class FileByFile : public SourceReader {
 public:
  explicit FileByFile(std::vector<std::string> files) : files_(std::move(files)) {}

  absl::StatusOr<bool> Read(SourceRecord* record) override;
  absl::Status StartEpoch(int64_t epoch) override;

 protected:
  const std::string& file(size_t index) const { return files_[index]; }
  // The index of the open file. The three functions below act on this file.
  size_t current() const { return current_; }

 private:
  virtual absl::Status OpenFile() = 0;
  // Like SourceReader::Read, for the open file.
  virtual absl::StatusOr<bool> ReadOfFile(SourceRecord* record) = 0;
  // Called at the end of the open file.
  virtual absl::Status CheckEnded() const = 0;

  const std::vector<std::string> files_;
  size_t current_ = 0;
  bool open_ = false;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_FILE_BY_FILE_H_
