// `inspect` of a checkpoint: one row a tensor, in name order.
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "cli/inspect.h"
#include "cli/json.h"
#include "cli/results.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/best_checkpoint.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/tensor_bundle.h"

namespace tpurun {
namespace {

using tensorflow::DataType;

template <typename T>
T Load(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The value of a scalar of a usual type, else null.
Json ScalarValue(DataType dtype, const std::string& bytes) {
  switch (dtype) {
    case tensorflow::DT_FLOAT:
      return JsonNumber(Load<float>(bytes));
    case tensorflow::DT_DOUBLE:
      return JsonNumber(Load<double>(bytes));
    case tensorflow::DT_INT32:
      return Load<int32_t>(bytes);
    case tensorflow::DT_INT64:
      return Load<int64_t>(bytes);
    case tensorflow::DT_UINT32:
      return Load<uint32_t>(bytes);
    case tensorflow::DT_UINT64:
      return Load<uint64_t>(bytes);
    case tensorflow::DT_BOOL:
      return Load<uint8_t>(bytes) != 0;
    default:
      return Json();
  }
}

// "best checkpoint model.ckpt-9: step 9, by MAX accuracy, loss 0.06, accuracy 0.96"; arrays are
// left out.
std::string BestText(const std::string& prefix, const proto::EvaluationState& state) {
  std::string text = absl::StrCat("best checkpoint ", Escape(prefix), ": step ", state.best_step(),
                                  ", by ", Escape(state.monitor()));
  const Json metrics = MetricsJson(BestMetrics(state));
  for (const auto& [name, value] : metrics.items()) {
    if (!value.is_array()) absl::StrAppend(&text, ", ", Escape(name), " ", value.dump());
  }
  return text;
}

// What the file of the best checkpoint says, if `path` is a model_dir that has one. The tensors are
// shown even if it is damaged.
std::optional<proto::EvaluationState> BestToShow(const std::string& path) {
  if (!IsDirectory(path)) return std::nullopt;
  const absl::StatusOr<std::optional<proto::EvaluationState>> best = ReadBestCheckpoint(path);
  absl::Status status = best.status();
  if (status.ok() && best->has_value()) status = BestPrefix(path, **best).status();
  if (status.ok()) return *best;
  LOG(WARNING) << "The best checkpoint is not shown: " << status.message() << ".";
  return std::nullopt;
}

}  // namespace

std::string DTypeName(DataType dtype) {
  if (!tensorflow::DataType_IsValid(dtype)) return absl::StrCat("dtype ", dtype);
  return DTypeName(std::string(absl::StripPrefix(tensorflow::DataType_Name(dtype), "DT_")));
}

Json TensorRow(const BundleEntry& entry) {
  return {{"name", entry.name},
          {"dtype", DTypeName(entry.dtype)},
          {"shape", entry.shape},
          {"bytes", entry.size}};
}

absl::StatusOr<Json> ReadValue(const BundleReader& reader, const BundleEntry& entry) {
  if (DataTypeSize(entry.dtype) > 0) {
    ASSIGN_OR_RETURN(const std::string bytes, reader.ReadBytes(entry));
    if (entry.shape.empty()) return ScalarValue(entry.dtype, bytes);
  } else if (entry.dtype == tensorflow::DT_STRING && !entry.partitioned()) {
    RETURN_IF_ERROR(reader.ReadStrings(entry).status());
  }
  return Json();
}

absl::Status WriteTensors(const BundleReader& reader,
                          const std::function<Json(const BundleEntry&)>& row_of,
                          std::vector<RowColumn> columns, RowWriter& rows) {
  rows.Begin(std::move(columns));
  for (const BundleEntry& entry : reader.entries()) rows.Widen(row_of(entry));
  rows.Heading();
  for (const BundleEntry& entry : reader.entries()) {
    ASSIGN_OR_RETURN(const Json value, ReadValue(reader, entry));
    Json row = row_of(entry);
    if (row.is_null()) continue;
    if (!value.is_null()) row["value"] = value;
    rows.Row(row);
  }
  return absl::OkStatus();
}

absl::Status InspectCheckpoint(const std::string& path, bool json, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, OpenCheckpoint(path));
  const std::optional<proto::EvaluationState> best = BestToShow(path);
  uint64_t total_bytes = 0;
  for (const BundleEntry& entry : reader->entries()) total_bytes += entry.size;
  RowWriter rows(json, out);
  rows.Title(absl::StrFormat("checkpoint %s: %d tensors, %d bytes", Escape(reader->prefix()),
                             reader->entries().size(), total_bytes));
  const std::string prefix = best.has_value() ? CheckpointPrefix(path, best->best_step()) : "";
  if (best.has_value()) rows.Title(BestText(prefix, *best));
  RETURN_IF_ERROR(WriteTensors(*reader, TensorRow,
                               {{"name"}, {"dtype"}, {"shape"}, {"bytes", true}, {"value"}}, rows));
  if (best.has_value()) {
    rows.Object({{"kind", "best_checkpoint"},
                 {"name", prefix},
                 {"global_step", best->best_step()},
                 {"monitor", best->monitor()},
                 {"metrics", MetricsJson(BestMetrics(*best))}});
  }
  return absl::OkStatus();
}

}  // namespace tpurun
