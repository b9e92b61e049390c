// Reads tar archives where they are: POSIX ustar and pax, GNU and the older form.
//   archive := (header{512} data{size, padded to a multiple of 512})* zero{512} ...
#ifndef TPURUN_DATA_CONVERT_TAR_H_
#define TPURUN_DATA_CONVERT_TAR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/file.h"

namespace tpurun {

// A part of a file.
struct FileRange {
  uint64_t offset = 0;  // bytes
  uint64_t size = 0;    // bytes
};

// A regular file of an archive.
struct TarMember {
  std::string name;  // with its folders, as the archive has it
  FileRange range;   // of the file that has the archive
};

// The regular files of the archive that is the bytes `range` of `file`, in their order. Only the
// headers are read. DataLoss with the offset if a header is damaged, if the archive ends before its
// end mark, or if a file is stored in pieces (sparse, or of several volumes).
absl::StatusOr<std::vector<TarMember>> ListTar(const RandomAccessFile& file,
                                               const FileRange& range);

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_TAR_H_
