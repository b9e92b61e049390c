#include "cli/config/read_message.h"

#include <functional>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/config/text_tokens.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/wire_format_lite.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::ZeroCopyInputStream;

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

// The first error of a text, with its place.
class FirstMistake : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", Escape(message));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Gives the file and its size in bytes to `parse`, which returns what is wrong; empty: nothing.
absl::Status ParseFile(const std::string& path, const std::string& kind,
                       const std::function<std::string(ZeroCopyInputStream&, uint64_t)>& parse) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::OpenRegular(path));
  const uint64_t bytes = source->remaining().value_or(0);
  if (bytes > kMaxMessageBytes) {
    return absl::DataLossError(absl::StrCat("cannot read ", path, ": ", kind, " of ", bytes,
                                            " bytes, want at most ", kMaxMessageBytes,
                                            "; keep its large values in other files"));
  }
  FileStream file(*source);
  google::protobuf::io::CopyingInputStreamAdaptor stream(&file);
  const std::string mistake = parse(stream, bytes);
  RETURN_IF_ERROR(file.status());
  if (mistake.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": no ", kind, ", or a damaged one: ", mistake,
                                          "; export or copy it again"));
}

}  // namespace

absl::Status ReadMessage(const std::string& path, const std::string& kind,
                         google::protobuf::MessageLite& message) {
  const auto parse = [&](ZeroCopyInputStream& stream, uint64_t bytes) -> std::string {
    // The error says it; protobuf would print to standard error too.
    const google::protobuf::LogSilencer silencer;
    if (message.ParseFromZeroCopyStream(&stream)) return "";
    return absl::StrCat("its ", bytes, " bytes are no such message");
  };
  return ParseFile(path, kind, parse);
}

absl::Status ReadTextMessage(const std::string& path, const std::string& kind,
                             google::protobuf::Message& message) {
  const auto parse = [&](ZeroCopyInputStream& stream, uint64_t) -> std::string {
    const google::protobuf::LogSilencer silencer;
    FirstMistake mistake;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&mistake);
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kMaxNesting);
    if (parser.Parse(&stream, &message)) return "";
    return mistake.text().empty() ? "its text is no such message" : mistake.text();
  };
  return ParseFile(path, kind, parse);
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
