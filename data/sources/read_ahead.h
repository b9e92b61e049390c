// ReadAhead: reads several open files ahead of their use, by threads of its own.
#ifndef TPURUN_DATA_SOURCES_READ_AHEAD_H_
#define TPURUN_DATA_SOURCES_READ_AHEAD_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/sources/source_file.h"

namespace tpurun {

class ReadAhead {
 public:
  // `num_threads` >= 1. If the system refuses a thread, there are fewer; without any, files are
  // read when their records are wanted.
  explicit ReadAhead(int num_threads) : num_threads_(num_threads) {}
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // A file of the same records and errors. From its first record that is not skipped on, it is read
  // ahead by at most some blocks of 256 KiB, or a record where one is larger. It must be destroyed
  // before this object.
  std::unique_ptr<SourceFile> Wrap(std::unique_ptr<SourceFile> file);

 private:
  class AheadFile;

  void StartThreads();
  void Run();
  // The file that most needs a block; nullptr if none does. mutex_ must be held.
  AheadFile* NextFile();

  const int num_threads_;
  std::mutex mutex_;  // guards the fields below and those of AheadFile
  std::condition_variable wanted_, made_;
  std::vector<AheadFile*> files_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // started by the first file that is read
};

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_READ_AHEAD_H_
