#include "data/combined_input.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "data/sampled_records.h"
#include "data/sources/files.h"
#include "data/zipped_records.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

std::string InputPath(size_t index) { return ElementPath("input", static_cast<int>(index)); }

std::optional<Schema> ZipSchemas(const std::vector<Schema>& inputs, ConfigErrors& errors) {
  Schema zipped;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const ColumnType& column : inputs[i]) {
      if (FindColumn(zipped, column.name) >= 0) {
        errors.Add(InputPath(i),
                   absl::StrCat("feature ", Quote(column.name),
                                " is one of an input before it, too; give it another key, "
                                "such as by the field output of a transform",
                                column.name == kFile ? ", or file_key: \"\" of image_file" : ""));
      }
      zipped.push_back(column);
    }
  }
  if (!errors.empty()) return std::nullopt;
  return zipped;
}

std::string TypesText(const Schema& schema) {
  std::string text;
  for (const ColumnType& column : schema) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", column.name, " ", column.ToString());
  }
  return text;
}

bool IsSame(const ColumnType& a, const ColumnType& b) {
  return a.name == b.name && a.dtype == b.dtype && a.dims == b.dims;
}

std::optional<Schema> SampleSchemas(const proto::SampleFromDatasets& sample,
                                    const std::vector<Schema>& inputs, ConfigErrors& errors) {
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (std::equal(inputs[i].begin(), inputs[i].end(), inputs[0].begin(), inputs[0].end(),
                   IsSame)) {
      continue;
    }
    errors.Add(InputPath(i), absl::StrCat("the inputs must have the same features in the same "
                                          "order: got ",
                                          TypesText(inputs[i]), ", want ", TypesText(inputs[0])));
  }
  if (sample.weight_size() > 0 && sample.weight_size() != sample.input_size()) {
    errors.Add("weight", absl::StrCat("weight: want one for each input, ", sample.input_size(),
                                      ", got ", sample.weight_size()));
  }
  for (int i = 0; i < sample.weight_size(); ++i) {
    if (sample.weight(i) > 0 && sample.weight(i) <= 1e30F) continue;
    errors.Add(ElementPath("weight", i), absl::StrCat("weight must be > 0 and at most 1e30, got ",
                                                      ShortestText(sample.weight(i))));
  }
  if (!errors.empty()) return std::nullopt;
  return inputs[0];
}

// True if the names, without folder and ending, are one, or one goes on where the other ends:
// 12.jpg and 12_mask.png.
bool AreNamedAlike(const std::string& a, const std::string& b) {
  const auto stem = [](const std::string& file) {
    const std::string name = BaseName(file);
    return name.substr(0, name.rfind('.'));
  };
  std::string shorter = stem(a), longer = stem(b);
  if (shorter.size() > longer.size()) std::swap(shorter, longer);
  return longer.starts_with(shorter) &&
         (longer.size() == shorter.size() || !absl::ascii_isalnum(longer[shorter.size()]));
}

// True if each image file is an element, in the order of the files.
bool IsOfImageFiles(const proto::Input& input) {
  return input.source().has_image_file() &&
         absl::c_all_of(input.transform(), [](const proto::Transform& transform) {
           return transform.has_apply() ||
                  FindTransform(transform.kind_case())->make_items == nullptr;
         });
}

// Says which image files of all inputs are the first that are side by side and have other names;
// empty if there are none, or if inputs are of something else.
std::string UnpairedNames(const proto::Zip& zip, const std::string& directory) {
  std::vector<std::vector<std::string>> files;
  for (const proto::Input& input : zip.input()) {
    if (!IsOfImageFiles(input)) return "";
    absl::StatusOr<std::vector<std::string>> found =
        ExpandFileNames(input.source().image_file().file(), directory,
                        [](const std::string& field) { return field; });
    if (!found.ok()) return "";  // reported where they are opened
    files.push_back(*std::move(found));
  }
  for (size_t i = 1; i < files.size(); ++i) {
    for (size_t n = 0; n < std::min(files[0].size(), files[i].size()); ++n) {
      if (AreNamedAlike(files[0][n], files[i][n])) continue;
      return absl::StrCat(
          Quote(files[0][n]), " is beside ", Quote(files[i][n]),
          ": are they a pair? Files are side by side in the order of their names; remove those "
          "without a partner");
    }
  }
  return "";
}

// The shortest of those that end.
Extent ZipExtents(const std::vector<Extent>& inputs) {
  Extent zipped{.endless = true};
  for (const Extent& input : inputs) {
    if (input.endless) continue;
    if (zipped.endless) {
      zipped = input;
    } else if (zipped.count.has_value() && input.count.has_value()) {
      zipped.count = std::min(*zipped.count, *input.count);
    } else {
      zipped.count = std::nullopt;
    }
  }
  return zipped;
}

Extent SampleExtents(const proto::SampleFromDatasets& sample, const std::vector<Extent>& inputs) {
  const auto is_endless = [](const Extent& input) { return input.endless; };
  if (sample.stop_on_empty_dataset()) {
    return {.endless = std::all_of(inputs.begin(), inputs.end(), is_endless)};
  }
  Extent sum{.endless = std::any_of(inputs.begin(), inputs.end(), is_endless), .count = 0};
  for (const Extent& input : inputs) {
    if (sum.endless || !input.count.has_value()) return {.endless = sum.endless};
    const bool overflows = __builtin_add_overflow(*sum.count, *input.count, &*sum.count);
    if (overflows) sum.count = std::numeric_limits<int64_t>::max();
  }
  return sum;
}

}  // namespace

std::optional<Schema> CombineSchemas(const proto::Source& source, const std::vector<Schema>& inputs,
                                     ConfigErrors& errors) {
  if (inputs.size() < 2) {
    errors.Add("input", absl::StrCat("want two or more inputs, got ", inputs.size()));
    return std::nullopt;
  }
  return source.has_zip() ? ZipSchemas(inputs, errors)
                          : SampleSchemas(source.sample_from_datasets(), inputs, errors);
}

Extent CombineExtents(const proto::Source& source, const std::vector<Extent>& inputs) {
  return source.has_zip() ? ZipExtents(inputs)
                          : SampleExtents(source.sample_from_datasets(), inputs);
}

void WarnOfUnpairedInputs(const proto::Source& source, const std::vector<Extent>& inputs,
                          const std::string& directory,
                          const std::function<void(const std::string&)>& warn) {
  if (!source.has_zip()) return;
  const Extent zipped = ZipExtents(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].endless || !inputs[i].count.has_value() || !zipped.count.has_value()) continue;
    if (*inputs[i].count == *zipped.count) continue;
    warn(absl::StrCat("zip: ", InputPath(i), " has ", *inputs[i].count,
                      " elements, of which only the first ", *zipped.count,
                      " are read: another input ends there"));
  }
  const std::string other = UnpairedNames(source.zip(), directory);
  if (!other.empty()) warn(absl::StrCat("zip: ", other));
}

std::unique_ptr<Records> CombineElements(const proto::Source& source, std::vector<Elements> inputs,
                                         uint64_t seed) {
  return source.has_zip()
             ? MakeZippedRecords(std::move(inputs))
             : MakeSampledRecords(std::move(inputs), source.sample_from_datasets(), seed);
}

}  // namespace tpurun
