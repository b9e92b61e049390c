#include "data/transforms/label_ids.h"

#include <string>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "runtime/base/text.h"

namespace tpurun {

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

}  // namespace tpurun
