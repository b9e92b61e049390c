// `inspect` of files of records: one row an event value, or one row a record.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/inspect.h"
#include "cli/json.h"
#include "data/images/decode.h"
#include "proto/event.pb.h"
#include "proto/example.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/event_reader.h"
#include "runtime/io/file.h"
#include "runtime/io/record_reader.h"

namespace tpurun {
namespace {

// One line of an event file; `tag` and `value` may be absent (null).
struct EventRow {
  std::string kind;
  Json tag;
  Json value;
};

Json BytesOf(size_t size) { return absl::StrCat(size, " bytes"); }

// A number (tf.summary.scalar of TensorFlow 2) or nested lists of them; of another tensor the
// dtype.
Json NumbersJson(const tensorflow::TensorProto& tensor) {
  const bool is_float = tensor.dtype() == tensorflow::DT_FLOAT;
  const auto& shape = tensor.tensor_shape();
  std::optional<std::vector<double>> numbers = TensorArray(tensor);
  // TensorFlow leaves out a list of zeros.
  if (is_float && shape.dim_size() == 0 && !numbers) numbers = {0};
  if (!numbers) return tensorflow::DataType_Name(tensor.dtype());
  std::vector<int64_t> dims;
  for (const auto& dim : shape.dim()) dims.push_back(dim.size());
  return JsonNested(dims, [&](int64_t i) {
    const double number = (*numbers)[static_cast<size_t>(i)];
    return is_float ? JsonNumber(static_cast<float>(number)) : JsonNumber(number);
  });
}

EventRow SummaryRow(const tensorflow::Summary::Value& value) {
  const Json tag = JsonBytes(value.tag());
  switch (value.value_case()) {
    case tensorflow::Summary::Value::kSimpleValue:
      return {"scalar", tag, JsonNumber(value.simple_value())};
    case tensorflow::Summary::Value::kHisto:
      return {"histogram", tag,
              absl::StrFormat("%g values from %g to %g", value.histo().num(), value.histo().min(),
                              value.histo().max())};
    case tensorflow::Summary::Value::kImage:
      return {"image", tag, absl::StrCat(value.image().width(), "x", value.image().height())};
    case tensorflow::Summary::Value::kAudio:
      return {"audio", tag, BytesOf(value.audio().encoded_audio_string().size())};
    case tensorflow::Summary::Value::kTensor: {
      const tensorflow::TensorProto& tensor = value.tensor();
      if (tensor.dtype() == tensorflow::DT_STRING && tensor.string_val_size() == 1) {
        return {"tensor", tag, JsonBytes(tensor.string_val(0))};
      }
      return {"tensor", tag, NumbersJson(tensor)};
    }
    default:
      return {"summary", tag, nullptr};
  }
}

std::vector<EventRow> EventRows(const tensorflow::Event& event) {
  switch (event.what_case()) {
    case tensorflow::Event::kFileVersion:
      return {{"file_version", nullptr, JsonBytes(event.file_version())}};
    case tensorflow::Event::kGraphDef:
      return {{"graph_def", nullptr, BytesOf(event.graph_def().size())}};
    case tensorflow::Event::kMetaGraphDef:
      return {{"meta_graph_def", nullptr, BytesOf(event.meta_graph_def().size())}};
    case tensorflow::Event::kSessionLog: {
      const tensorflow::SessionLog& log = event.session_log();
      const std::string status = tensorflow::SessionLog::SessionStatus_Name(log.status());
      const std::string& detail = log.checkpoint_path().empty() ? log.msg() : log.checkpoint_path();
      return {{"session_log", status, detail.empty() ? Json() : JsonBytes(detail)}};
    }
    case tensorflow::Event::kLogMessage:
      return {{"log_message", nullptr, JsonBytes(event.log_message().message())}};
    case tensorflow::Event::kTaggedRunMetadata:
      return {{"run_metadata", JsonBytes(event.tagged_run_metadata().tag()),
               BytesOf(event.tagged_run_metadata().run_metadata().size())}};
    case tensorflow::Event::kSummary: {
      std::vector<EventRow> rows;
      for (const auto& value : event.summary().value()) rows.push_back(SummaryRow(value));
      return rows;
    }
    default:
      return {{"empty", nullptr, nullptr}};
  }
}

// As much of an array as a line takes.
std::string ArrayText(const Json& array) {
  constexpr size_t kMostText = 1000;
  const std::string text = JsonText(array);
  if (text.size() <= kMostText) return text;
  return absl::StrCat(text.substr(0, text.rfind(',', kMostText) + 1), "...");
}

// Null is "-"; strings stand without quotes as long as that leaves them one word or more, shown as
// they are.
std::string Text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_array()) return ArrayText(value);
  if (!value.is_string()) return JsonText(value);
  const std::string text = value.get<std::string>();
  const bool plain = !text.empty() && IsPrintable(text) && text.find('"') == std::string::npos;
  return plain ? text : JsonText(value);
}

// Of a record that is a tf.Example; else none.
using SortedFeatures = std::map<std::string, tensorflow::Feature>;
SortedFeatures FeaturesOf(const std::string& record) {
  tensorflow::Example example;
  if (!example.ParseFromString(record)) return {};
  const auto& map = example.features().feature();
  return {map.begin(), map.end()};
}

// name -> kind and count; null without features.
Json KindsOf(const SortedFeatures& all) {
  Json features = Json::object();
  for (const auto& [name, feature] : all) {
    std::string what = "missing";
    if (feature.has_bytes_list()) {
      what = absl::StrCat("bytes[", feature.bytes_list().value_size(), "]");
    } else if (feature.has_float_list()) {
      what = absl::StrCat("float[", feature.float_list().value_size(), "]");
    } else if (feature.has_int64_list()) {
      what = absl::StrCat("int64[", feature.int64_list().value_size(), "]");
    }
    features[name] = what;
  }
  return features.empty() ? Json() : features;
}

// What is shown of a list of values, and of a string of bytes.
constexpr int kMostValues = 16;
constexpr size_t kMostBytes = 64;

// The first of more bytes, of UTF-8 whole characters.
std::string_view FirstBytes(std::string_view bytes) {
  if (!IsUtf8(bytes)) return bytes.substr(0, kMostBytes);
  size_t size = kMostBytes;
  while ((bytes[size] & 0xc0) == 0x80) --size;  // within a character
  return bytes.substr(0, size);
}

// What the header of an encoded image says, in the order of `file` and of image tools: the width
// comes first. nullopt for other bytes.
struct ShownImage {
  Json json;
  std::string text;
};
std::optional<ShownImage> ImageOf(const std::string& bytes) {
  const char* const format = ImageFormatOf(bytes);
  if (format == nullptr) return std::nullopt;
  Json json = {{"bytes", bytes.size()}, {"format", format}};
  const absl::StatusOr<std::unique_ptr<EncodedImage>> image = EncodedImage::Open(bytes, {});
  if (!image.ok()) {
    const std::string reason(image.status().message());
    json["error"] = reason;
    return ShownImage{
        json, absl::StrCat("cannot be decoded: ", Escape(reason), " (", bytes.size(), " bytes)")};
  }
  const ImageSize& size = (*image)->size();
  json["width"] = size.width;
  json["height"] = size.height;
  json["channels"] = size.channels;
  return ShownImage{json, absl::StrCat(format, " ", size.width, "x", size.height, "x",
                                       size.channels, " (", bytes.size(), " bytes)")};
}

Json StringJson(const std::string& bytes) {
  if (std::optional<ShownImage> image = ImageOf(bytes)) return std::move(image->json);
  if (bytes.size() <= kMostBytes) return JsonBytes(bytes);
  return {{"bytes", bytes.size()}, {"first", JsonBytes(FirstBytes(bytes))}};
}

std::string StringText(const std::string& bytes) {
  if (std::optional<ShownImage> image = ImageOf(bytes)) return std::move(image->text);
  if (bytes.size() <= kMostBytes) return Quote(bytes);
  return absl::StrCat(Quote(FirstBytes(bytes)), "... (", bytes.size(), " bytes)");
}

// What `of` makes of each of the first values.
template <typename Values, typename Of>
auto FirstValues(const Values& values, Of of) {
  std::vector<decltype(of(values[0]))> first;
  for (int i = 0; i < std::min(values.size(), kMostValues); ++i) first.push_back(of(values[i]));
  return first;
}

Json ValuesJson(const tensorflow::Feature& feature) {
  if (feature.has_bytes_list()) return FirstValues(feature.bytes_list().value(), StringJson);
  if (feature.has_float_list()) {
    return FirstValues(feature.float_list().value(), [](float value) { return JsonNumber(value); });
  }
  return FirstValues(feature.int64_list().value(), [](int64_t value) { return Json(value); });
}

std::string ValuesText(const tensorflow::Feature& feature) {
  const auto joined = [](const auto& values, auto of) {
    const std::string text = absl::StrJoin(FirstValues(values, of), " ");
    if (values.size() <= kMostValues) return text;
    return absl::StrCat(text, " ... (", values.size(), " values)");
  };
  if (feature.has_bytes_list()) return joined(feature.bytes_list().value(), StringText);
  if (feature.has_float_list()) {
    return joined(feature.float_list().value(), [](float value) { return ShortestText(value); });
  }
  return joined(feature.int64_list().value(), [](int64_t value) { return absl::StrCat(value); });
}

// A line for each feature; of a record that is no tf.Example its first bytes.
void WriteValues(const std::string& record, const SortedFeatures& features, std::ostream& out) {
  if (features.empty()) out << absl::StrFormat("%12s%s\n", "", StringText(record));
  for (const auto& [name, feature] : features) {
    out << absl::StripTrailingAsciiWhitespace(
               absl::StrFormat("%12s%s: %s", "", Text(JsonBytes(name)), ValuesText(feature)))
        << "\n";
  }
}

Json ValuesOf(const SortedFeatures& features) {
  if (features.empty()) return nullptr;
  Json values = Json::object();
  for (const auto& [name, feature] : features) values[name] = ValuesJson(feature);
  return values;
}

std::string FeaturesText(const Json& features) {
  if (features.is_null()) return "-";
  std::vector<std::string> parts;
  for (const auto& [name, what] : features.items()) {
    parts.push_back(absl::StrCat(Text(name), "=", what.get<std::string>()));
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace

absl::Status InspectEvents(const std::string& path, bool json, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EventReader> reader, EventReader::Open(path));
  if (!json) {
    out << "event file " << Escape(path) << "\n"
        << absl::StrFormat("%10s  %17s  %-14s  %-24s  %s\n", "step", "wall_time", "kind", "tag",
                           "value");
  }
  tensorflow::Event event;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader->Read(&event));
    if (!more) return absl::OkStatus();
    for (const EventRow& row : EventRows(event)) {
      if (!json) {
        out << absl::StrFormat("%10d  %17.6f  %-14s  %-24s  %s\n", event.step(), event.wall_time(),
                               row.kind, Text(row.tag), Text(row.value));
        continue;
      }
      out << JsonText({{"step", event.step()},
                       {"wall_time", JsonNumber(event.wall_time())},
                       {"kind", row.kind},
                       {"tag", row.tag},
                       {"value", row.value}})
          << "\n";
    }
  }
}

absl::Status InspectRecords(const std::string& path, bool json, std::ostream& out, int64_t limit) {
  ASSIGN_OR_RETURN(const Compression compression, GuessCompression(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader,
                   RecordReader::Open(path, compression));
  if (!json) {
    out << "TFRecord file " << Escape(path) << "\n"
        << absl::StrFormat("%10s  %12s  %10s  %s\n", "record", "offset", "bytes", "features");
  }
  std::string record;
  while (limit == 0 || reader->num_records() < limit) {
    const int64_t number = reader->num_records();
    const uint64_t offset = reader->offset();
    ASSIGN_OR_RETURN(const bool more, reader->Read(&record));
    if (!more) break;
    const SortedFeatures features = FeaturesOf(record);
    if (!json) {
      out << absl::StrFormat("%10d  %12d  %10d  %s\n", number, offset, record.size(),
                             FeaturesText(KindsOf(features)));
      if (limit > 0) WriteValues(record, features, out);
      continue;
    }
    Json row = {{"record", number},
                {"offset", offset},
                {"bytes", record.size()},
                {"features", KindsOf(features)}};
    if (limit > 0) row["values"] = ValuesOf(features);
    out << JsonText(row) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace tpurun
