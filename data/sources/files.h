// The files that a source names.
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

// Adds what the configuration alone shows to be wrong with the names, which are the field "file".
void CheckFileNames(const google::protobuf::RepeatedPtrField<std::string>& names,
                    ConfigErrors& errors);
// Globs expanded, each sorted, in the order of the names; relative names are in `directory`. All
// are readable files, or pipes (which are not opened). NotFound names what is missing, also from a
// set of shards that a glob finds a part of; `where`, unless null, gives the place of the name, of
// the field "file[1]", to put before.
absl::StatusOr<std::vector<std::string>> ExpandFileNames(
    const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& directory,
    const std::function<std::string(const std::string& field)>& where);
// A file that can be read more than once.
bool IsRegularFile(const std::string& path);
// Whether all are; InvalidArgument names one that is not, NotFound one that is gone.
absl::Status CheckReadableAgain(const std::vector<std::string>& files);
bool NamesStandardInput(const google::protobuf::RepeatedPtrField<std::string>& names);
// What tells the file from others, whatever its name: its length and the checksums (crc32c) of its
// first and its last 64 KiB, as "LENGTH CRC CRC", the latter in 8 hexadecimal digits. "stream" for
// what can be read only once. Saved with positions: it stays as it is.
absl::StatusOr<std::string> FileIdentity(const std::string& file);
// "\"a.csv\" \"b.csv\"", in ASCII.
std::string JoinFileNames(const google::protobuf::RepeatedPtrField<std::string>& names);

}  // namespace tpurun

#endif  // TPURUN_DATA_SOURCES_FILES_H_
