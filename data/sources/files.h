// The files that a source names: expands globs, checks and identifies the files.
#ifndef TPURUN_DATA_SOURCES_FILES_H_
#define TPURUN_DATA_SOURCES_FILES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/config_errors.h"

namespace tpurun {

// Adds mistakes in the names that the configuration alone shows. The names are the field "file".
void CheckFileNames(const google::protobuf::RepeatedPtrField<std::string>& names,
                    ConfigErrors& errors);
// Expands globs. The files of each glob are sorted, and the globs' results are in the order of the
// names. Relative names are resolved in `directory`. The results are readable files, or pipes
// (which are not opened). NotFound names what is missing, including missing shards of a set that a
// glob matches in part. `where`, unless empty, returns the place of a field such as "file[1]",
// which is put before the message.
absl::StatusOr<std::vector<std::string>> ExpandFileNames(
    const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& directory,
    const std::function<std::string(const std::string& field)>& where);
// True for a file that can be read more than once.
bool IsRegularFile(const std::string& path);
// Checks that all files can be read more than once. InvalidArgument names a file that cannot,
// NotFound a file that no longer exists.
absl::Status CheckReadableAgain(const std::vector<std::string>& files);
bool NamesStandardInput(const google::protobuf::RepeatedPtrField<std::string>& names);
// Identifies a file independently of its name: its length and the checksums (crc32c) of its first
// and its last 64 KiB, as "LENGTH CRC CRC" with the CRCs in 8 hexadecimal digits. "stream" for a
// file that can be read only once. The format must not change: identities are saved with positions.
absl::StatusOr<std::string> FileIdentity(const std::string& file);
// Returns "\"a.csv\" \"b.csv\"", in ASCII.
std::string JoinFileNames(const google::protobuf::RepeatedPtrField<std::string>& names);

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_FILES_H_
