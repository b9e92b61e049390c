#include "runtime/io/keras_file.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/directory.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n"sv;
constexpr std::string_view kZip = "PK\x03\x04"sv;

}  // namespace

absl::Status RefuseKerasFile(const std::string& path) {
  if (!FileExists(path) || IsDirectory(path)) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(path);
  if (!file.ok()) return absl::OkStatus();
  std::string bytes(std::min<uint64_t>((*file)->size(), kHdf5.size()), '\0');
  if (!(*file)->ReadAt(0, bytes.data(), bytes.size()).ok()) return absl::OkStatus();
  const bool hdf5 = bytes == kHdf5;
  if (!hdf5 && !(absl::EndsWith(path, ".keras") && bytes.compare(0, kZip.size(), kZip) == 0)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": ", hdf5 ? "an HDF5 file, as Keras writes with .h5" : "an archive of Keras, .keras",
      ", which tpurun does not read; want a checkpoint of TensorFlow: load the model in Python and "
      "call tf.train.Checkpoint(model=model).write(\"PREFIX\")"));
}

}  // namespace tpurun
