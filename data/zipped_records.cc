#include "data/zipped_records.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/combined_records.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

class ZippedRecords : public CombinedRecords {
 public:
  explicit ZippedRecords(std::vector<Elements> inputs)
      : CombinedRecords(std::move(inputs), SchemaOf(inputs)) {}

  absl::Status Load(std::span<const Item> items, int thread, Table* rows) override {
    size_t column = 0;
    std::vector<Item> of_input(items.size());
    for (size_t i = 0; i < num_inputs(); ++i) {
      for (size_t row = 0; row < items.size(); ++row) of_input[row] = PartsOf(items[row]).items[i];
      ASSIGN_OR_RETURN(const Table* const loaded, input(i).Load(of_input, thread));
      for (const Column& from : loaded->columns) CopyValues(from, &rows->columns[column++]);
    }
    rows->rows = std::ssize(items);
    return absl::OkStatus();
  }

  std::string Where(const Origin& origin) const override {
    return absl::StrCat(CombinedRecords::Where(origin), ", zipped");
  }

 private:
  static Schema SchemaOf(const std::vector<Elements>& inputs) {
    Schema schema;
    for (const Elements& input : inputs) {
      schema.insert(schema.end(), input.output().begin(), input.output().end());
    }
    return schema;
  }

  int64_t NumParts() const override { return static_cast<int64_t>(num_inputs()); }
  size_t InputOf(const Parts& parts, size_t part) const override { return part; }

  absl::StatusOr<bool> Draw(Parts* parts) override {
    parts->items.resize(num_inputs());
    for (size_t i = 0; i < num_inputs(); ++i) {
      const absl::StatusOr<bool> found = DrawOf(i, &parts->items[i]);
      if (found.ok() && *found) continue;
      for (size_t drawn = 0; drawn < i; ++drawn) ReleasePart(*parts, drawn);
      return found;
    }
    return true;
  }

  void ReleasePart(const Parts& parts, size_t index) {
    input(index).records().Release(std::span(&parts.items[index], 1));
  }
  void ReleaseParts(const Parts& parts) override {
    for (size_t i = 0; i < num_inputs(); ++i) ReleasePart(parts, i);
  }
};

}  // namespace

std::unique_ptr<Records> MakeZippedRecords(std::vector<Elements> inputs) {
  return std::make_unique<ZippedRecords>(std::move(inputs));
}

}  // namespace tpurun
