// ngrams { feature output width separator }: runs of consecutive words of a row, joined.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/transform_list.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

class NgramMaker {
 public:
  NgramMaker(const proto::Ngrams& ngrams, std::string output)
      : feature_(ngrams.feature()),
        output_(std::move(output)),
        widths_(ngrams.width().begin(), ngrams.width().end()),
        separator_(ngrams.separator()) {}

  absl::Status operator()(const RowBatch& rows, Table* out) {
    const Column& from = rows.in.column(feature_);
    Column& to = out->column(output_);
    to.Clear();
    for (int64_t row = 0; row < rows.in.rows; ++row) {
      const Column::Elements words = from.ElementsOf(row);
      const int64_t bytes = BytesOf(from, words);
      if (bytes > kMaxRowElements) {
        return absl::DataLossError(absl::StrCat(rows.where(row), ": ngrams: those of feature ",
                                                Quote(feature_), " take ", BytesText(bytes),
                                                ", want at most ", BytesText(kMaxRowElements)));
      }
      for (const int64_t width : widths_) {
        for (int64_t i = words.begin; i + width <= words.end; ++i) AppendRun(from, i, width, &to);
      }
      to.EndList();
    }
    return absl::OkStatus();
  }

 private:
  // In memory, of all runs of a row.
  int64_t BytesOf(const Column& from, const Column::Elements& words) {
    ends_.assign(1, 0);  // of each word, with the separator behind it
    for (int64_t i = words.begin; i < words.end; ++i) {
      ends_.push_back(ends_.back() + std::ssize(from.string(i)) + std::ssize(separator_));
    }
    int64_t bytes = 0;
    for (const int64_t width : widths_) {
      for (int64_t end = width; end < std::ssize(ends_); ++end) {
        bytes += static_cast<int64_t>(sizeof(Column::String)) + ends_[end] - ends_[end - width] -
                 std::ssize(separator_);
      }
    }
    return bytes;
  }

  void AppendRun(const Column& from, int64_t first, int64_t width, Column* to) {
    run_ = from.string(first);
    for (int64_t i = first + 1; i < first + width; ++i) {
      run_.append(separator_).append(from.string(i));
    }
    to->AppendString(run_);
  }

  std::string feature_, output_;
  std::vector<int64_t> widths_;
  std::string separator_;
  std::vector<int64_t> ends_;
  std::string run_;
};

Ragged AddNgrams(ExportGraph& graph, const Ragged& words, const proto::Ngrams& ngrams) {
  const Value joined = graph.Add(
      "StringNGrams", {words.values, words.row_splits},
      {{"separator", ngrams.separator()},
       {"ngram_widths", std::vector<int64_t>(ngrams.width().begin(), ngrams.width().end())},
       {"left_pad", std::string()},
       {"right_pad", std::string()},
       {"pad_width", int64_t{0}},
       {"preserve_short_sequences", false},
       {"Tsplits", ElementType::kInt64}});
  return {joined, {joined.node, 1}};
}

}  // namespace

std::optional<RowTransform> BindNgrams(const proto::Transform& transform, const Schema& input,
                                       ConfigErrors& errors) {
  const proto::Ngrams& ngrams = transform.ngrams();
  const int index = FindFeature(input, ngrams.feature(), "feature", errors);
  if (ngrams.has_output()) CheckColumnName(ngrams.output(), {}, "output", errors);
  if (index >= 0 && (input[index].dtype != proto::STRING || input[index].dims.size() != 1)) {
    errors.Add(
        "feature",
        absl::StrCat("feature ", Quote(ngrams.feature()), " must be STRING of one dimension, got ",
                     input[index].ToString(), "; transform { split {} } makes words of a text"));
  }
  if (!errors.empty()) return std::nullopt;
  const ColumnType feature = input[index];
  const std::string output = ngrams.has_output() ? ngrams.output() : ngrams.feature();
  RowTransform bound{.output = input, .reads = {feature.name}, .makes = {output}, .paired = true};
  PutColumn({output, proto::STRING, {kVaries}}, &bound.output);
  bound.apply = NgramMaker(ngrams, output);
  bound.tensorflow = [ngrams, feature, output](ExportGraph& graph, const std::set<std::string>&,
                                               std::map<std::string, Value>& columns) {
    PutRagged(AddNgrams(graph, RaggedOf(graph, feature, columns), ngrams), output, &columns);
  };
  return bound;
}

}  // namespace tpurun
