#include "data/sampled_records.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/combined_records.h"
#include "data/item_stream.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

class SampledRecords : public CombinedRecords {
 public:
  SampledRecords(std::vector<Elements> inputs, const proto::SampleFromDatasets& sample,
                 uint64_t seed)
      : CombinedRecords(std::move(inputs), inputs[0].output()),
        weights_(sample.weight().begin(), sample.weight().end()),
        stops_(sample.stop_on_empty_dataset()),
        seed_(seed) {
    if (weights_.empty()) weights_.assign(num_inputs(), 1);
    StartPass();
  }

  absl::Status Load(std::span<const Item> items, int thread, Table* rows) override {
    std::vector<std::vector<Item>> of_input(num_inputs());
    for (const Item& item : items) {
      of_input[PartsOf(item).input].push_back(PartsOf(item).items[0]);
    }
    std::vector<const Table*> loaded(num_inputs());
    for (size_t i = 0; i < num_inputs(); ++i) {
      if (of_input[i].empty()) continue;
      ASSIGN_OR_RETURN(loaded[i], input(i).Load(of_input[i], thread));
    }
    for (size_t c = 0; c < rows->columns.size(); ++c) {
      Column& to = rows->columns[c];
      to.Clear();
      std::vector<int64_t> next(num_inputs(), 0);
      for (const Item& item : items) {
        const int32_t from = PartsOf(item).input;
        to.AppendRowView(loaded[from]->columns[c], next[from]++);
      }
    }
    rows->rows = std::ssize(items);
    return absl::OkStatus();
  }

 private:
  void StartPass() override { ended_.assign(num_inputs(), false); }
  int64_t NumParts() const override { return 1; }

  absl::StatusOr<bool> Draw(Parts* parts) override {
    const auto lanes = PhiloxBlock(seed_, StreamOf("sample_from_datasets"),
                                   static_cast<uint32_t>(epoch()), 0, next());
    const double draw =
        static_cast<double>(static_cast<uint64_t>(lanes[0]) << 32 | lanes[1]) * 0x1p-64;
    parts->items.resize(1);
    while (true) {
      parts->input = Choose(draw);
      if (parts->input < 0) return false;
      ASSIGN_OR_RETURN(const bool found, DrawOf(parts->input, &parts->items[0]));
      if (found) return true;
      if (stops_) return false;
      ended_[parts->input] = true;
    }
  }

  // The input that `draw`, in [0, 1), falls on, of those that have not ended. -1 if all have.
  int32_t Choose(double draw) const {
    double sum = 0;
    for (size_t i = 0; i < num_inputs(); ++i) sum += ended_[i] ? 0 : weights_[i];
    double left = draw * sum;
    int32_t chosen = -1;
    for (size_t i = 0; i < num_inputs(); ++i) {
      if (ended_[i]) continue;
      chosen = static_cast<int32_t>(i);
      if (left < weights_[i]) break;
      left -= weights_[i];
    }
    return chosen;
  }

  void ReleaseParts(const Parts& parts) override {
    input(parts.input).records().Release(parts.items);
  }

  void SaveState(std::string* text) const override {
    absl::StrAppend(text, " sample");
    for (size_t i = 0; i < num_inputs(); ++i) absl::StrAppend(text, " ", ended_[i] ? 1 : 0);
  }

  absl::Status RestoreState(PositionReader& position) override {
    RETURN_IF_ERROR(position.Name("sample"));
    for (size_t i = 0; i < num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const int64_t ended, position.Number());
      ended_[i] = ended != 0;
    }
    return absl::OkStatus();
  }

  std::vector<double> weights_;
  const bool stops_;
  const uint64_t seed_;
  std::vector<bool> ended_;
};

}  // namespace

std::unique_ptr<Records> MakeSampledRecords(std::vector<Elements> inputs,
                                            const proto::SampleFromDatasets& sample,
                                            uint64_t seed) {
  return std::make_unique<SampledRecords>(std::move(inputs), sample, seed);
}

}  // namespace tpurun
