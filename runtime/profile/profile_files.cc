#include "runtime/profile/profile_files.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"

namespace tpurun {

absl::StatusOr<std::string> ProfileJson(const proto::Profile& profile) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(profile, &json, options);
  if (status.ok()) return json + "\n";
  return absl::InternalError(std::string(status.message().data(), status.message().size()));
}

absl::StatusOr<proto::Profile> ParseProfileJson(const std::string& json) {
  proto::Profile profile;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &profile, options);
  if (status.ok() && !profile.layer().empty()) return profile;
  const std::string why = status.ok() ? "" : absl::StrCat(": ", std::string(status.message()));
  return absl::InvalidArgumentError(
      absl::StrCat("not a profile", why, "; want the output of tpurun profile --format=json"));
}

}  // namespace tpurun
