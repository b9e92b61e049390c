#include "data/transforms/label_ids.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

std::string FirstOf(std::span<const std::string> words) {
  constexpr size_t kShown = 50;
  const std::span<const std::string> shown = words.first(std::min(words.size(), kShown));
  return absl::StrCat(absl::StrJoin(shown, ", "), shown.size() < words.size() ? ", ..." : "");
}

}  // namespace

RowTransform LabelIds(const FeatureSpec& label, const Schema& input) {
  ColumnType made = input[FindColumn(input, label.name)];
  made.dtype = proto::INT32;
  RowTransform row{.output = input, .reads = {label.name}, .makes = {label.name}, .paired = true};
  PutColumn(made, &row.output);
  std::unordered_map<std::string, int32_t> ids;
  for (const std::string& name : label.vocabulary) {
    ids.try_emplace(name, static_cast<int32_t>(ids.size()));
  }
  row.apply = [label, ids = std::move(ids)](const RowBatch& rows, Table* out) -> absl::Status {
    const Column& from = rows.in.column(label.name);
    Column& to = out->column(label.name);
    const auto count = std::ssize(from.strings);
    to.bytes.resize(count * sizeof(int32_t));
    const std::span<int32_t> values = to.values<int32_t>();
    std::string name;
    for (int64_t i = 0; i < count; ++i) {
      name = from.string(i);
      const auto id = ids.find(name);
      if (id == ids.end()) {
        return absl::DataLossError(
            absl::StrCat(rows.where(from.RowOf(i)), ": label ", Quote(label.name), " is ",
                         Quote(name), ", which is not in the label_vocabulary of the head",
                         DidYouMean(name, label.vocabulary)));
      }
      values[i] = id->second;
    }
    return absl::OkStatus();
  };
  return row;
}

void RequireKnownLabels(const std::string& label, RowTransform* lookup) {
  const auto made = std::find(lookup->makes.begin(), lookup->makes.end(), label);
  lookup->apply = [label, from_name = lookup->reads[made - lookup->makes.begin()],
                   words = lookup->vocabularies.at(label),
                   apply = std::move(lookup->apply)](const RowBatch& rows, Table* out) {
    RETURN_IF_ERROR(apply(rows, out));
    const std::span<const int64_t> ids = out->column(label).values<int64_t>();
    const auto unknown = std::find(ids.begin(), ids.end(), -1);
    if (unknown == ids.end()) return absl::OkStatus();
    const Column& from = rows.in.column(from_name);
    const int64_t i = unknown - ids.begin();
    const std::string where = absl::StrCat(rows.where(from.RowOf(i)), ": label ", Quote(label));
    constexpr const char* kUnknown = ", which is not in the vocabulary of its lookup";
    if (from.type.dtype != proto::STRING) {
      return absl::DataLossError(absl::StrCat(where, " is ", from.values<int64_t>()[i], kUnknown,
                                              " (known: ", FirstOf(words), ")"));
    }
    const std::string text(from.string(i));
    return absl::DataLossError(
        absl::StrCat(where, " is ", Quote(text), kUnknown, DidYouMean(text, words)));
  };
}

}  // namespace tpurun
