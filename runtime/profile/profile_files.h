// A Profile as JSON, and the place of profiles in a model_dir.
#ifndef TPURUN_RUNTIME_PROFILE_PROFILE_FILES_H_
#define TPURUN_RUNTIME_PROFILE_PROFILE_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/profile.pb.h"

namespace tpurun {

// In a model_dir: the folder of profiles. Each is a folder named by its date, with the XSpace
// HOST.xplane.pb for TensorBoard's profile plugin, and a Profile.
inline constexpr char kProfilesDir[] = "plugins/profile";
inline constexpr char kProfileFile[] = "profile.json";

// The JSON form of protobuf, with all fields, on one line.
absl::StatusOr<std::string> ProfileJson(const proto::Profile& profile);
// Parses the output of ProfileJson, also that of a later version. InvalidArgument, without the
// file's name, for another text.
absl::StatusOr<proto::Profile> ParseProfileJson(const std::string& json);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_PROFILE_PROFILE_FILES_H_
