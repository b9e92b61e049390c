#include "runtime/report/run_events.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/event.pb.h"
#include "proto/hparams.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/event_reader.h"

namespace tpurun {
namespace {

using tensorflow::HistogramProto;
using tensorflow::TensorProto;

constexpr char kHParamsTag[] = "_hparams_/session_start_info";

std::optional<double> TensorScalar(const TensorProto& tensor) {
  const bool is_number =
      tensor.dtype() == tensorflow::DT_FLOAT || tensor.dtype() == tensorflow::DT_DOUBLE;
  if (!is_number || tensor.tensor_shape().dim_size() != 0) return std::nullopt;
  const std::vector<double> numbers = TensorNumbers(tensor);
  return numbers.empty() ? 0 : numbers.front();  // TensorFlow leaves out a list of zeros
}

// The cells of a table row after row, its heading first.
template <typename Cells>
std::string TableMarkdown(const Cells& cells, int64_t columns) {
  std::string text;
  for (int i = 0; i < static_cast<int>(cells.size()); ++i) {
    absl::StrAppend(&text, "| ", cells[i], (i + 1) % columns == 0 ? " |\n" : " ");
    if (i + 1 != columns) continue;
    for (int64_t column = 0; column < columns; ++column) absl::StrAppend(&text, "|---");
    absl::StrAppend(&text, "|\n");
  }
  return text;
}

// Strings of one dimension are paragraphs, of two a table with its heading first.
std::string TensorMarkdown(const TensorProto& tensor) {
  const auto& strings = tensor.string_val();
  if (tensor.tensor_shape().dim_size() != 2) return absl::StrJoin(strings, "\n\n");
  return TableMarkdown(strings, std::max<int64_t>(1, tensor.tensor_shape().dim(1).size()));
}

// Numbers of two dimensions as a table, its rows and columns numbered from 0; nullopt for others.
std::optional<std::string> MatrixMarkdown(const TensorProto& tensor) {
  const std::optional<std::vector<double>> numbers = TensorArray(tensor);
  if (!numbers || tensor.tensor_shape().dim_size() != 2) return std::nullopt;
  const auto columns = static_cast<size_t>(tensor.tensor_shape().dim(1).size());
  std::vector<std::string> cells = {""};
  for (size_t column = 0; column < columns; ++column) cells.push_back(absl::StrCat(column));
  for (size_t i = 0; i < numbers->size(); ++i) {
    const double number = (*numbers)[i];
    if (i % columns == 0) cells.push_back(absl::StrCat(i / columns));
    cells.push_back(tensor.dtype() == tensorflow::DT_FLOAT
                        ? ShortestText(static_cast<float>(number))
                        : ShortestText(number));
  }
  return TableMarkdown(cells, static_cast<int64_t>(columns) + 1);
}

// What a browser shows; empty for other bytes.
std::string ImageMediaType(std::string_view bytes) {
  const auto begins = [&](std::string_view magic) {
    return bytes.substr(0, magic.size()) == magic;
  };
  if (begins("\x89PNG")) return "image/png";
  if (begins("\xff\xd8\xff")) return "image/jpeg";
  if (begins("GIF8")) return "image/gif";
  return "";
}

// The outer buckets reach to the least and the greatest value, not to infinity.
HistogramSummary FromProto(const HistogramProto& proto, int64_t step) {
  HistogramSummary histogram = {.step = step};
  const int size = std::min(proto.bucket_limit_size(), proto.bucket_size());
  for (int i = 0; i < size; ++i) {
    if (proto.bucket(i) <= 0) continue;
    const double left = i == 0 ? proto.min() : std::max(proto.min(), proto.bucket_limit(i - 1));
    if (histogram.edges.empty()) histogram.edges.push_back(left);
    if (histogram.edges.back() < left) {
      histogram.edges.push_back(left);
      histogram.counts.push_back(0);
    }
    histogram.edges.push_back(std::min(proto.max(), proto.bucket_limit(i)));
    histogram.counts.push_back(proto.bucket(i));
  }
  return histogram;
}

// TensorFlow 2's: rows of (left, right, count).
HistogramSummary FromRows(const std::vector<double>& numbers, int64_t step) {
  HistogramSummary histogram = {.step = step};
  for (size_t row = 0; row + 3 <= numbers.size(); row += 3) {
    if (histogram.edges.empty()) histogram.edges.push_back(numbers[row]);
    histogram.edges.push_back(numbers[row + 1]);
    histogram.counts.push_back(numbers[row + 2]);
  }
  return histogram;
}

std::string HParamText(const tensorboard::hparams::Value& value) {
  switch (value.kind_case()) {
    case tensorboard::hparams::Value::kNumberValue:
      return ShortestText(value.number_value());
    case tensorboard::hparams::Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    default:
      return value.string_value();
  }
}

template <typename Summary>
void DropFrom(int64_t step, std::map<std::string, Summary>* by_tag) {
  std::erase_if(*by_tag, [&](const auto& entry) { return entry.second.step >= step; });
}

// Takes the events of a run in their order.
class RunEventsBuilder {
 public:
  void Add(const tensorflow::Event& event) {
    switch (event.what_case()) {
      case tensorflow::Event::kFileVersion:
        restarts_ = absl::EndsWith(event.file_version(), ":2");
        break;
      case tensorflow::Event::kSessionLog:
        if (event.session_log().status() == tensorflow::SessionLog::START) AddStart(event.step());
        break;
      case tensorflow::Event::kSummary:
        for (const auto& value : event.summary().value()) AddValue(event, value);
        break;
      default:
        break;
    }
  }

  RunEvents Finish() && {
    for (auto& [tag, points] : run_.scalars) {
      std::stable_sort(points.begin(), points.end(),
                       [](const ScalarPoint& a, const ScalarPoint& b) { return a.step < b.step; });
    }
    return std::move(run_);
  }

 private:
  void AddStart(int64_t step) {
    if (!std::exchange(started_, true) || !restarts_) return;
    for (auto& [tag, points] : run_.scalars) {
      std::erase_if(points, [&](const ScalarPoint& point) { return point.step >= step; });
    }
    std::erase_if(run_.scalars, [](const auto& entry) { return entry.second.empty(); });
    DropFrom(step, &run_.images);
    DropFrom(step, &run_.texts);
    DropFrom(step, &run_.histograms);
  }

  void AddValue(const tensorflow::Event& event, const tensorflow::Summary::Value& value) {
    // TensorFlow may name the plugin with a tag's first value only.
    std::string& plugin = plugins_[value.tag()];
    const auto& plugin_data = value.metadata().plugin_data();
    if (!plugin_data.plugin_name().empty()) plugin = plugin_data.plugin_name();
    if (plugin == "hparams") {
      if (value.tag() == kHParamsTag) AddHParams(plugin_data.content());
      return;
    }
    switch (value.value_case()) {
      case tensorflow::Summary::Value::kSimpleValue:
        AddPoint(event, value.tag(), value.simple_value());
        break;
      case tensorflow::Summary::Value::kImage:
        AddImage(event, value.tag(), value.image().encoded_image_string());
        break;
      case tensorflow::Summary::Value::kHisto:
        run_.histograms[value.tag()] = FromProto(value.histo(), event.step());
        break;
      case tensorflow::Summary::Value::kTensor:
        AddTensor(event, value.tag(), plugin, value.tensor());
        break;
      default:
        break;
    }
  }

  void AddTensor(const tensorflow::Event& event, const std::string& tag, std::string_view plugin,
                 const TensorProto& tensor) {
    const std::optional<double> scalar = TensorScalar(tensor);
    if (plugin == "scalars" && scalar) {
      AddPoint(event, tag, *scalar);
    } else if (plugin == "text" && tensor.dtype() == tensorflow::DT_STRING) {
      run_.texts[tag] = {event.step(), TensorMarkdown(tensor)};
    } else if (plugin == "histograms") {
      run_.histograms[tag] = FromRows(TensorNumbers(tensor), event.step());
    } else if (plugin == "images" && tensor.string_val_size() > 2) {
      // Width, height, and then the images.
      AddImage(event, tag, tensor.string_val(2));
    } else if (plugin.empty()) {
      if (auto matrix = MatrixMarkdown(tensor)) run_.texts[tag] = {event.step(), *matrix};
    }
  }

  void AddPoint(const tensorflow::Event& event, const std::string& tag, double value) {
    run_.scalars[tag].push_back({event.step(), event.wall_time(), value});
  }

  void AddImage(const tensorflow::Event& event, const std::string& tag, const std::string& bytes) {
    const std::string media_type = ImageMediaType(bytes);
    if (!media_type.empty()) run_.images[tag] = {event.step(), media_type, bytes};
  }

  void AddHParams(const std::string& content) {
    tensorboard::hparams::HParamsPluginData data;
    if (!data.ParseFromString(content)) return;
    for (const auto& [name, value] : data.session_start_info().hparams()) {
      run_.hparams[name] = HParamText(value);
    }
  }

  RunEvents run_;
  std::map<std::string, std::string> plugins_;  // by tag
  bool restarts_ = false;                       // file_version 2: a START drops what it repeats
  bool started_ = false;
};

absl::Status ReadEventFile(const std::string& path, RunEventsBuilder* run) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EventReader> reader, EventReader::Open(path));
  tensorflow::Event event;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader->Read(&event));
    if (!more) return absl::OkStatus();
    run->Add(event);
  }
}

}  // namespace

RunEvents ReadRunEvents(const std::vector<std::string>& event_files,
                        std::vector<std::string>* warnings) {
  RunEventsBuilder run;
  for (const std::string& path : event_files) {
    const absl::Status status = ReadEventFile(path, &run);
    if (!status.ok()) {
      warnings->push_back(absl::StrCat(status.message(), "; what stands before it is taken"));
    }
  }
  return std::move(run).Finish();
}

}  // namespace tpurun
