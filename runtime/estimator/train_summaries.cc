#include "runtime/estimator/train_summaries.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/histogram_limits.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/compiler/replication.h"
#include "runtime/io/event_reader.h"
#include "runtime/io/file.h"
#include "runtime/io/png.h"
#include "runtime/ops/ops.h"

namespace tpurun {
namespace {

// tf.summary.image's max_outputs.
constexpr int64_t kMaxImages = 3;
constexpr char kImageTag[] = "/image";

// Returns the name of a summary's output. It is made from the summary's index, because a tag may be
// any text.
std::string OutputName(size_t index) { return absl::StrCat("summary/", index); }
std::string StatisticsName(size_t index) { return absl::StrCat(OutputName(index), "/statistics"); }

// Returns the square root of the sum of the squares of all gradients, as tf.global_norm.
Value GlobalNorm(GraphBuilder& b, const TrainStepValues& values) {
  ScopedName scope(b, "global_norm");
  Value sum;
  for (const auto& [variable, gradient] : values.gradients) {
    const Value squares = ReduceSum(b, Square(b, gradient));
    sum = sum.valid() ? Add(b, sum, squares) : squares;
  }
  return Sqrt(b, sum);
}

Value ValueOf(GraphBuilder& b, const TrainSummary& summary, const TrainStepValues& values) {
  switch (summary.source) {
    case TrainSummary::Source::kValue:
      return summary.value;
    case TrainSummary::Source::kVariable:
      return b.Read(b.graph().FindVariable(summary.name));
    case TrainSummary::Source::kGradient: {
      const auto gradient = values.gradients.find(summary.name);
      if (gradient != values.gradients.end()) return gradient->second;
      return b.Fail(
          absl::InvalidArgumentError(absl::StrCat("summary ", Quote(summary.tag),
                                                  ": there is no gradient: the loss does not "
                                                  "depend on ",
                                                  summary.name)));
    }
    case TrainSummary::Source::kLearningRate:
      return values.learning_rates.at(summary.name);
    case TrainSummary::Source::kGlobalNorm:
      return GlobalNorm(b, values);
  }
  return {};
}

void AddOutputs(GraphBuilder& b, const TrainSummary& summary, size_t index, Value value) {
  const int64_t period = summary.every_n_steps;
  const std::string name = OutputName(index);
  switch (summary.kind) {
    case TrainSummary::Kind::kScalar:
      value = Convert(b, value, DType::kF32);
      if (b.shape(value).num_elements() > 1) {
        value = ReduceMean(b, value);
      } else if (b.shape(value).rank() > 0) {
        value = Reshape(b, value, {});
      }
      b.AddOutput(name, value, period);
      return;
    case TrainSummary::Kind::kHistogram: {
      const Value counts = Histogram(b, Convert(b, value, DType::kF32));
      b.AddOutput(name, counts, period);
      b.AddOutput(StatisticsName(index), {counts.node, 1}, period);
      return;
    }
    case TrainSummary::Kind::kImage: {
      std::vector<int64_t> size = b.shape(value).dims;
      const std::vector<int64_t> begin(size.size(), 0);
      if (size[0] > kMaxImages) {
        size[0] = kMaxImages;
        value = Slice(b, value, begin, size);
      }
      b.AddOutput(name, value, period);
      return;
    }
  }
}

// Scales the values of an image to pixels as TensorFlow's ImageSummary does: 0 is black and the
// largest value is 255, or 0 is grey if there are negative values. A pixel with a value that is not
// finite is white.
std::vector<uint8_t> PixelsOf(std::span<const float> values, int64_t channels) {
  float min = 0, max = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  constexpr float kZero = 1e-6f;
  const float offset = min < 0 ? 128 : 0;
  const float largest = std::max(max, -min);
  const float scale = largest < kZero ? 0 : (min < 0 ? 127 : 255) / largest;
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < values.size(); i += channels) {
    const std::span<const float> pixel = values.subspan(i, channels);
    const bool finite =
        std::all_of(pixel.begin(), pixel.end(), [](float value) { return std::isfinite(value); });
    for (const float value : pixel) {
      pixels.push_back(finite ? static_cast<uint8_t>(value * scale + offset) : 255);
    }
  }
  return pixels;
}

absl::Status AddImages(const std::string& tag, const Shape& shape, const std::byte* values,
                       tensorflow::Summary* to) {
  const int64_t images = shape.dims[0], height = shape.dims[1], width = shape.dims[2],
                channels = shape.dims[3];
  const size_t pixels_of_one = height * width * channels;
  for (int64_t i = 0; i < images; ++i) {
    std::vector<uint8_t> pixels;
    if (shape.dtype == DType::kU8) {
      const auto* const first = reinterpret_cast<const uint8_t*>(values) + i * pixels_of_one;
      pixels.assign(first, first + pixels_of_one);
    } else {
      const auto* const first = reinterpret_cast<const float*>(values) + i * pixels_of_one;
      pixels = PixelsOf({first, pixels_of_one}, channels);
    }
    ASSIGN_OR_RETURN(std::string png, EncodePng(pixels, height, width, channels));
    tensorflow::Summary::Value& value = *to->add_value();
    value.set_tag(absl::StrCat(tag, kImageTag, images > 1 ? absl::StrCat("/", i) : ""));
    value.mutable_image()->set_height(static_cast<int32_t>(height));
    value.mutable_image()->set_width(static_cast<int32_t>(width));
    value.mutable_image()->set_colorspace(static_cast<int32_t>(channels));
    value.mutable_image()->set_encoded_image_string(std::move(png));
  }
  return absl::OkStatus();
}

// Merges consecutive empty buckets, as TensorFlow does.
void AddBuckets(std::span<const double> counts, tensorflow::HistogramProto* histogram) {
  const std::vector<double>& limits = HistogramLimits();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0 && i + 1 < counts.size() && counts[i + 1] == 0) continue;
    histogram->add_bucket_limit(limits[i]);
    histogram->add_bucket(counts[i]);
  }
}

}  // namespace

void AddSummaries(GraphBuilder& b, const std::vector<TrainSummary>& summaries,
                  const TrainStepValues& values) {
  ScopedName scope(b, "summary");
  for (size_t i = 0; i < summaries.size(); ++i) {
    if (summaries[i].every_n_steps == 0) continue;
    const Value value = ValueOf(b, summaries[i], values);
    if (b.status().ok()) AddOutputs(b, summaries[i], i, value);
  }
}

TrainSummaries::TrainSummaries(std::vector<TrainSummary> summaries, const Graph& graph,
                               const CoreProgram& program, int counted_replicas)
    : summaries_(std::move(summaries)) {
  const std::vector<bool> per_core = PerCoreNodes(graph);
  const SlotLayout layout = LayoutOf(program.outfeed, program.outfeed_replicas());
  for (size_t i = 0; i < program.outfeed.size(); ++i) {
    const OutfeedSlot& slot = program.outfeed[i];
    const int node = graph.outputs()[graph.FindOutput(slot.name)].value.node;
    slots_[slot.name] = {.offset = layout.offsets[i],
                         .replica_bytes = layout.replica_bytes[i],
                         .shape = slot.shape,
                         .copies = per_core[node] ? counted_replicas : 1};
  }
}

absl::Status TrainSummaries::Open(const FilePath& dir, int64_t first_step, EventWriter* events) {
  events_ = events;
  first_step_ = first_step;
  const auto due = [first_step](const TrainSummary& summary) {
    return summary.every_n_steps > 0 && first_step % summary.every_n_steps == 0;
  };
  if (first_step == 0 || std::none_of(summaries_.begin(), summaries_.end(), due)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  for (const std::string& name : names) {
    if (!IsEventFileName(name)) continue;
    const auto reader = EventReader::Open(JoinPath(dir.text(), name));
    tensorflow::Event event;
    // The file of a killed run may end with an incomplete event.
    for (absl::StatusOr<bool> read = reader.ok(); read.ok() && *read;) {
      for (const auto& value : event.summary().value()) {
        if (event.step() != first_step) continue;
        const std::string& tag = value.tag();
        written_.insert(value.has_image() ? tag.substr(0, tag.rfind(kImageTag)) : tag);
      }
      read = (*reader)->Read(&event);
    }
  }
  return absl::OkStatus();
}

absl::Status TrainSummaries::Write(int64_t global_step, const std::byte* slots) {
  tensorflow::Summary due;
  for (size_t i = 0; i < summaries_.size(); ++i) {
    const TrainSummary& summary = summaries_[i];
    if (summary.every_n_steps == 0 || global_step % summary.every_n_steps != 0) continue;
    if (global_step == first_step_ && written_.count(summary.tag) > 0) continue;
    RETURN_IF_ERROR(Add(i, slots, &due));
  }
  return due.value().empty() ? absl::OkStatus() : events_->WriteSummary(global_step, due);
}

absl::Status TrainSummaries::Add(size_t index, const std::byte* slots, tensorflow::Summary* to) {
  const TrainSummary& summary = summaries_[index];
  const Slot& slot = slots_.at(OutputName(index));
  if (summary.kind == TrainSummary::Kind::kImage) {
    return AddImages(summary.tag, slot.shape, slots + slot.offset, to);
  }
  if (summary.kind == TrainSummary::Kind::kScalar) {
    AddScalar(summary.tag, static_cast<float>(Mean(slot, slots)), to);
    return absl::OkStatus();
  }
  tensorflow::HistogramProto histogram =
      Histogram(slot, slots_.at(StatisticsName(index)), summary, slots);
  if (histogram.num() == 0) return absl::OkStatus();
  to->add_value()->set_tag(summary.tag);
  *to->mutable_value(to->value_size() - 1)->mutable_histo() = std::move(histogram);
  return absl::OkStatus();
}

double TrainSummaries::Mean(const Slot& slot, const std::byte* slots) const {
  double sum = 0;
  for (int copy = 0; copy < slot.copies; ++copy) {
    float value = 0;
    std::memcpy(&value, slots + slot.offset + copy * slot.replica_bytes, sizeof value);
    sum += value;
  }
  return sum / slot.copies;
}

tensorflow::HistogramProto TrainSummaries::Histogram(const Slot& counts, const Slot& statistics,
                                                     const TrainSummary& summary,
                                                     const std::byte* slots) {
  const int64_t rows = counts.shape.dims[0], buckets = counts.shape.dims[1] - 1;
  std::vector<double> sums(buckets, 0);
  double not_finite = 0;
  tensorflow::HistogramProto histogram;
  histogram.set_min(std::numeric_limits<double>::max());
  histogram.set_max(std::numeric_limits<double>::lowest());
  for (int copy = 0; copy < counts.copies; ++copy) {
    const auto* const of_rows =
        reinterpret_cast<const int64_t*>(slots + counts.offset + copy * counts.replica_bytes);
    const auto* const about_rows =
        reinterpret_cast<const float*>(slots + statistics.offset + copy * statistics.replica_bytes);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t* const in_row = of_rows + row * (buckets + 1);
      const float* const about = about_rows + row * statistics.shape.dims[1];
      for (int64_t i = 0; i < buckets; ++i) sums[i] += static_cast<double>(in_row[i]);
      not_finite += static_cast<double>(in_row[buckets]);
      histogram.set_min(std::min<double>(histogram.min(), about[0]));
      histogram.set_max(std::max<double>(histogram.max(), about[1]));
      histogram.set_sum(histogram.sum() + about[2]);
      histogram.set_sum_squares(histogram.sum_squares() + about[3]);
    }
  }
  for (const double count : sums) histogram.set_num(histogram.num() + count);
  AddBuckets(sums, &histogram);
  if (not_finite > 0 && warned_.insert(summary.tag).second) {
    LOG(WARNING) << "summary " << Quote(summary.tag) << ": " << not_finite
                 << " values are NaN or infinite; histograms leave such values out.";
  }
  return histogram;
}

}  // namespace tpurun
