#include "cli/config/read_message.h"

#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/wire_format_lite.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint64_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();

// A file as protobuf wants to read it.
class FileStream : public google::protobuf::io::CopyingInputStream {
 public:
  explicit FileStream(FileSource& source) : source_(source) {}

  int Read(void* buffer, int size) override {
    return Taken(source_.Read(static_cast<char*>(buffer), size));
  }
  int Skip(int count) override { return Taken(source_.Skip(count)); }
  // Why the file could not be read on.
  const absl::Status& status() const { return status_; }

 private:
  template <typename Count>
  int Taken(const absl::StatusOr<Count>& count) {
    status_.Update(count.status());
    return count.ok() ? static_cast<int>(*count) : -1;
  }

  FileSource& source_;
  absl::Status status_;
};

}  // namespace

absl::Status ReadMessage(const std::string& path, const std::string& kind,
                         google::protobuf::MessageLite& message) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::OpenRegular(path));
  const uint64_t bytes = source->remaining().value_or(0);
  if (bytes > kMaxMessageBytes) {
    return absl::DataLossError(absl::StrCat("cannot read ", path, ": ", kind, " of ", bytes,
                                            " bytes, want at most ", kMaxMessageBytes,
                                            "; keep its large values in other files"));
  }
  FileStream file(*source);
  google::protobuf::io::CopyingInputStreamAdaptor stream(&file);
  // The error says it; protobuf would print to standard error too.
  const google::protobuf::LogSilencer silencer;
  const bool parsed = message.ParseFromZeroCopyStream(&stream);
  RETURN_IF_ERROR(file.status());
  if (parsed) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": no ", kind, ", or a damaged one: its ", bytes,
                                          " bytes are no such message; export or copy it again"));
}

absl::StatusOr<std::set<uint32_t>> TagsOfMessage(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::OpenRegular(path));
  FileStream file(*source);
  google::protobuf::io::CopyingInputStreamAdaptor stream(&file);
  google::protobuf::io::CodedInputStream coded(&stream);
  std::set<uint32_t> tags;
  while (const uint32_t tag = coded.ReadTag()) {
    tags.insert(tag);
    if (!WireFormatLite::SkipField(&coded, tag)) tags.clear();
    if (tags.empty()) break;
  }
  RETURN_IF_ERROR(file.status());
  return coded.ConsumedEntireMessage() ? tags : std::set<uint32_t>();
}

}  // namespace tpurun
