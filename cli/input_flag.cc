#include "cli/input_flag.h"

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/convert/image_files.h"
#include "data/images/decode.h"
#include "data/input_fn.h"
#include "data/sources/files.h"
#include "data/sources/source_list.h"
#include "data/table.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/input.pb.h"
#include "proto/run_config.pb.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
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

// `files`: those of the flag, with the files of folders in place of them. `given`: the flag.
void SetInput(const std::vector<std::string>& files, const std::string& given,
              const std::string& path, proto::Input* input, SourceLocations* locations,
              ConfigErrors& errors) {
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
  const SourceLocation flag = {.flag = given};
  const std::string names_path = FieldPath(source_path, file_path);
  locations->Erase(names_path);
  locations->Record(names_path, flag);
  KeepAllRows(FieldPath(path, "transform"), input->mutable_transform(), locations);
}

// ---- image files in place of records

bool IsImageFile(const std::string& name) {
  // Those of other images, too: decode_image then says what it wants.
  for (const char* const ending :
       {".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".heic", ".tif", ".tiff"}) {
    if (absl::EndsWithIgnoreCase(name, ending)) return true;
  }
  if (!IsRegularFile(name)) return false;
  char begin[8] = {};
  absl::StatusOr<std::unique_ptr<FileSource>> file = FileSource::OpenRegular(name);
  if (!file.ok()) return false;  // opening the input tells of it
  const size_t got = ReadFully(**file, begin, sizeof begin).value_or(0);
  return ImageFormatOf({begin, got}) != nullptr;
}

bool HasImageFiles(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> files = ImageFilesBelow(folder);
  return files.ok() && (files->empty() || std::any_of(files->begin(), files->end(), IsImageFile));
}

// The first of the names that is image files, or a folder of them; nullptr if they all may be
// records.
const std::string* FirstImage(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (IsDirectory(name) ? HasImageFiles(name) : IsImageFile(name)) return &name;
    if (name == kStandardInput || FileExists(name)) continue;
    const auto found = Glob(name);
    if (found.ok() && std::any_of(found->begin(), found->end(), IsImageFile)) return &name;
  }
  return nullptr;
}

// The feature of the records that is decoded to an image; empty if none is.
std::string EncodedFeature(const proto::RunConfig& run) {
  const proto::Input values = InputValues(run.predict().input(), run.transformation_func());
  for (const proto::Transform& transform : values.transform()) {
    if (transform.has_decode_image()) return transform.decode_image().feature();
  }
  return "";
}

// The same names, with the files below each folder in place of it.
absl::StatusOr<std::vector<std::string>> ExpandFolders(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (!IsDirectory(name)) {
      files.push_back(name);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> below, ImageFilesBelow(name));
    if (below.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(name, " has no files, want images"));
    }
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

// Has predict read image files, of which `image` is one, if its records are such files.
std::vector<std::string> UseImageFiles(const std::vector<std::string>& names,
                                       const std::string& image, proto::RunConfig& run,
                                       SourceLocations* locations, ConfigErrors& errors) {
  proto::Predict& predict = *run.mutable_predict();
  const std::string feature = EncodedFeature(run);
  if (feature.empty()) {
    errors.AddAt({.flag = kFlag},
                 absl::StrCat(image, ": want TFRecord files; predict.input (",
                              locations->Where("predict.input"),
                              ") has no decode_image, so its records are no image files"));
    return names;
  }
  const absl::StatusOr<std::vector<std::string>> files = ExpandFolders(names);
  if (!files.ok()) {
    errors.AddAt({.flag = kFlag}, std::string(files.status().message()));
    return names;
  }
  locations->Erase("predict.input.source.tfrecord");
  predict.mutable_input()->mutable_source()->mutable_image_file()->set_feature(feature);
  auto& forwarded = *predict.mutable_forward_features();
  if (std::find(forwarded.begin(), forwarded.end(), kFile) == forwarded.end()) {
    *forwarded.Add() = kFile;
  }
  return *files;
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
  const std::string given = absl::StrCat(kFlag, "=", absl::StrJoin(files, ","));
  proto::RunConfig& run = config->run;
  SourceLocations* const locations = &config->locations;
  const int chosen = ChooseEvaluation(run, required);
  for (int i = 0; required.evaluate && i < run.evaluate_size(); ++i) {
    if (i != chosen && !required.all_evaluations) continue;
    proto::Evaluate& evaluate = *run.mutable_evaluate(i);
    evaluate.clear_steps();
    if (!evaluate.has_input()) continue;
    const std::string* const image =
        evaluate.input().source().has_tfrecord() ? FirstImage(files) : nullptr;
    if (image != nullptr) {
      errors.AddAt({.flag = kFlag},
                   absl::StrCat(*image,
                                ": want TFRecord files, which have labels too; tpurun "
                                "convert images makes them"));
      continue;
    }
    SetInput(files, given, FieldPath(ElementPath("evaluate", i), "input"), evaluate.mutable_input(),
             locations, errors);
  }
  if (required.predict && run.predict().has_generate()) {
    errors.AddAt({.flag = kFlag}, "predict.generate reads no files, leave it out");
  } else if (required.predict && run.predict().has_input()) {
    const std::string* const image =
        run.predict().input().source().has_tfrecord() ? FirstImage(files) : nullptr;
    SetInput(image == nullptr ? files : UseImageFiles(files, *image, run, locations, errors), given,
             "predict.input", run.mutable_predict()->mutable_input(), locations, errors);
  }
  for (int i = 0; i < run.transformation_func_size(); ++i) {
    KeepAllRows(FieldPath(ElementPath("transformation_func", i), "transform"),
                run.mutable_transformation_func(i)->mutable_transform(), locations);
  }
}

}  // namespace tpurun
