#include "cli/input_flag.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/input_fn.h"
#include "data/sources/source_list.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/input.pb.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using Transforms = google::protobuf::RepeatedPtrField<proto::Transform>;

constexpr char kFlag[] = "--input";

// `path` is that of the repeated field.
void KeepAllRows(const std::string& path, Transforms* transforms, SourceLocations* locations) {
  for (int i = transforms->size() - 1; i >= 0; --i) {
    proto::Transform& transform = *transforms->Mutable(i);
    if (SelectsRows(transform)) {
      transforms->DeleteSubrange(i, 1);
      locations->RemoveElement(path, i);
    } else if (transform.has_batch()) {
      transform.mutable_batch()->clear_drop_remainder();
    }
  }
}

void SetInput(const std::vector<std::string>& files, const std::string& path, proto::Input* input,
              SourceLocations* locations, ConfigErrors& errors) {
  proto::Source* const source = input->mutable_source();
  if (source->kind_case() == proto::Source::KIND_NOT_SET) return;  // it is reported
  const std::string source_path = FieldPath(path, "source");
  const std::string file_path = SetFiles(files, source);
  if (file_path.empty()) {
    errors.AddAt(
        {.flag = kFlag},
        absl::StrCat("the source of ", path, " (", locations->Where(source_path), ") ",
                     InputsOf(*source).empty() ? "reads no files"
                                               : "is made of several inputs; take it out, and "
                                                 "set the files of each by --set"));
    return;
  }
  const SourceLocation flag = {.flag = absl::StrCat(kFlag, "=", absl::StrJoin(files, ","))};
  const std::string names_path = FieldPath(source_path, file_path);
  locations->Erase(names_path);
  locations->Record(names_path, flag);
  KeepAllRows(FieldPath(path, "transform"), input->mutable_transform(), locations);
}

}  // namespace

int ChooseEvaluation(const proto::RunConfig& run, const RequiredParts& required) {
  const std::string name = required.evaluation.value_or("");
  for (int i = 0; i < run.evaluate_size(); ++i) {
    if (run.evaluate(i).name() == name) return i;
  }
  return 0;
}

void UseInputFlag(const std::vector<std::string>& files, const RequiredParts& required,
                  LoadedConfig* config, ConfigErrors& errors) {
  if (files.empty()) {
    errors.AddAt({.flag = kFlag}, "got no name, want FILE,...");
    return;
  }
  if (config->run_path == kStandardInput &&
      std::count(files.begin(), files.end(), kStandardInput) > 0) {
    errors.AddAt({.flag = kFlag}, "standard input is the configuration, want a file");
    return;
  }
  proto::RunConfig& run = config->run;
  SourceLocations* const locations = &config->locations;
  const int chosen = ChooseEvaluation(run, required);
  for (int i = 0; required.evaluate && i < run.evaluate_size(); ++i) {
    if (i != chosen && !required.all_evaluations) continue;
    proto::Evaluate& evaluate = *run.mutable_evaluate(i);
    evaluate.clear_steps();
    if (!evaluate.has_input()) continue;
    SetInput(files, FieldPath(ElementPath("evaluate", i), "input"), evaluate.mutable_input(),
             locations, errors);
  }
  if (required.predict && run.predict().has_generate()) {
    errors.AddAt({.flag = kFlag}, "predict.generate reads no files, leave it out");
  } else if (required.predict && run.predict().has_input()) {
    SetInput(files, "predict.input", run.mutable_predict()->mutable_input(), locations, errors);
  }
  for (int i = 0; i < run.transformation_func_size(); ++i) {
    KeepAllRows(FieldPath(ElementPath("transformation_func", i), "transform"),
                run.mutable_transformation_func(i)->mutable_transform(), locations);
  }
}

}  // namespace tpurun
