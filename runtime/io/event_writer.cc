#include "runtime/io/event_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

constexpr char kNamePrefix[] = "events.out.tfevents.";
constexpr char kNamePart[] = "tfevents";
constexpr char kFileVersion[] = "brain.Event:2";
constexpr size_t kSecondsDigits = 10;

// The seconds in an event file's name, 0 for names of another kind.
int64_t SecondsOf(const std::string& name) {
  const std::string prefix = kNamePrefix;
  if (name.compare(0, prefix.size(), prefix) != 0) return 0;
  const std::string digits = name.substr(prefix.size(), kSecondsDigits);
  const bool number = digits.size() == kSecondsDigits &&
                      std::all_of(digits.begin(), digits.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return number ? std::stoll(digits) : 0;
}

}  // namespace

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

double WallTime() { return absl::ToUnixMicros(absl::Now()) * 1e-6; }

bool IsEventFileName(const std::string& name) { return name.find(kNamePart) != std::string::npos; }

void AddScalar(const std::string& tag, float value, tensorflow::Summary* summary) {
  tensorflow::Summary::Value* const entry = summary->add_value();
  entry->set_tag(tag);
  entry->set_simple_value(value);
}

void AddString(const std::string& tag, const std::string& text, tensorflow::Summary* summary) {
  tensorflow::Summary::Value* const entry = summary->add_value();
  entry->set_tag(tag);
  entry->mutable_tensor()->set_dtype(tensorflow::DT_STRING);
  entry->mutable_tensor()->mutable_tensor_shape();
  entry->mutable_tensor()->add_string_val(text);
}

void AddArray(const std::string& tag, const std::vector<int64_t>& dims,
              const std::vector<double>& values, tensorflow::Summary* summary) {
  tensorflow::Summary::Value* const entry = summary->add_value();
  entry->set_tag(tag);
  entry->set_node_name(tag);
  tensorflow::TensorProto& tensor = *entry->mutable_tensor();
  tensor.set_dtype(tensorflow::DT_DOUBLE);
  for (const int64_t dim : dims) tensor.mutable_tensor_shape()->add_dim()->set_size(dim);
  tensor.set_tensor_content(values.data(), values.size() * sizeof(double));
}

void AddText(const std::string& tag, const std::string& markdown, tensorflow::Summary* summary) {
  AddString(tag, markdown, summary);
  tensorflow::SummaryMetadata& metadata =
      *summary->mutable_value(summary->value_size() - 1)->mutable_metadata();
  metadata.mutable_plugin_data()->set_plugin_name("text");
  metadata.set_data_class(tensorflow::DATA_CLASS_TENSOR);
}

absl::StatusOr<std::unique_ptr<EventWriter>> EventWriter::Open(const FilePath& dir) {
  return Open(dir, Options());
}

absl::StatusOr<std::unique_ptr<EventWriter>> EventWriter::Open(const FilePath& dir,
                                                               const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  int64_t seconds = static_cast<int64_t>(options.wall_time());
  for (const std::string& name : names) seconds = std::max(seconds, SecondsOf(name) + 1);
  const std::string host = options.host.empty() ? HostName() : options.host;
  FilePath path = dir;
  absl::StatusOr<std::unique_ptr<FileSink>> file = absl::AlreadyExistsError("");
  // Another process may have taken the name meanwhile.
  for (; absl::IsAlreadyExists(file.status()); ++seconds) {
    path = dir.WithName(
        JoinPath(dir.name(), absl::StrFormat("%s%010d.%s", kNamePrefix, seconds, host)));
    file = FileSink::CreateNew(path);
  }
  RETURN_IF_ERROR(file.status());
  std::unique_ptr<EventWriter> writer(
      new EventWriter(path, std::make_unique<RecordWriter>(*std::move(file)), options.wall_time));
  tensorflow::Event version;
  version.set_file_version(kFileVersion);
  absl::Status status = writer->Write(std::move(version));
  if (status.ok()) status = writer->Flush();
  if (status.ok()) return writer;
  RemoveFile(path).IgnoreError();
  return status;
}

absl::Status EventWriter::Write(tensorflow::Event event) {
  if (event.wall_time() == 0) event.set_wall_time(wall_time_());
  return records_->Write(event.SerializeAsString());
}

absl::Status EventWriter::WriteSummary(int64_t step, const tensorflow::Summary& summary) {
  tensorflow::Event event;
  event.set_step(step);
  *event.mutable_summary() = summary;
  return Write(std::move(event));
}

absl::Status EventWriter::WriteSessionStart(int64_t step) {
  tensorflow::Event event;
  event.set_step(step);
  event.mutable_session_log()->set_status(tensorflow::SessionLog::START);
  return Write(std::move(event));
}

absl::Status EventWriter::WriteCheckpoint(int64_t step, const std::string& path) {
  tensorflow::Event event;
  event.set_step(step);
  event.mutable_session_log()->set_status(tensorflow::SessionLog::CHECKPOINT);
  event.mutable_session_log()->set_checkpoint_path(path);
  return Write(std::move(event));
}

absl::Status EventWriter::WriteGraph(const std::string& graph_def) {
  tensorflow::Event event;
  event.set_graph_def(graph_def);
  return Write(std::move(event));
}

}  // namespace tpurun
