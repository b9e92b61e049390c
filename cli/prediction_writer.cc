#include "cli/prediction_writer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/json.h"
#include "cli/signals.h"
#include "proto/example.pb.h"
#include "proto/serialize.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/output_file.h"
#include "runtime/io/record_writer.h"

namespace tpurun {
namespace {

constexpr char kText[] = ".txt";
constexpr char kJsonLines[] = ".jsonl";
constexpr char kRecords[] = ".tfrecord";

template <typename T>
T ElementAt(const std::byte* data, int64_t i) {
  return reinterpret_cast<const T*>(data)[i];
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kC64;
}

// Element i of a real float type; of complex numbers, real and imaginary parts in turn.
float FloatAt(DType dtype, const std::byte* data, int64_t i) {
  return dtype == DType::kBF16 ? FromBFloat16Bits(ElementAt<uint16_t>(data, i))
                               : ElementAt<float>(data, i);
}

int64_t IntAt(DType dtype, const std::byte* data, int64_t i) {
  switch (dtype) {
    case DType::kS32:
      return ElementAt<int32_t>(data, i);
    case DType::kS64:
      return ElementAt<int64_t>(data, i);
    case DType::kU32:
      return ElementAt<uint32_t>(data, i);
    default:
      return ElementAt<uint8_t>(data, i);
  }
}

const std::byte* RowOf(const PredictedBatch::Column& column, int64_t row) {
  return column.data + row * column.row.bytes();
}

// Element i of a row. A complex number is [real, imaginary].
Json ElementJson(const PredictedBatch::Column& column, int64_t row, int64_t i) {
  if (column.strings != nullptr) {
    return JsonBytes(column.strings[row * column.row.num_elements() + i]);
  }
  const DType dtype = column.row.dtype;
  const std::byte* const data = RowOf(column, row);
  if (dtype == DType::kC64) {
    return Json::array(
        {JsonNumber(FloatAt(dtype, data, 2 * i)), JsonNumber(FloatAt(dtype, data, 2 * i + 1))});
  }
  if (IsFloat(dtype)) return JsonNumber(FloatAt(dtype, data, i));
  if (dtype == DType::kPred) return IntAt(dtype, data, i) != 0;
  return IntAt(dtype, data, i);
}

// One object a row.
std::string BatchText(const PredictedBatch& batch) {
  std::string text;
  for (int64_t row = 0; row < batch.rows; ++row) {
    Json json;
    for (const PredictedBatch::Column& column : batch.columns) {
      json[column.name] =
          JsonNested(column.row.dims, [&](int64_t i) { return ElementJson(column, row, i); });
    }
    absl::StrAppend(&text, JsonText(json), "\n");
  }
  return text;
}

tensorflow::Example RowExample(const PredictedBatch& batch, int64_t row) {
  tensorflow::Example example;
  for (const PredictedBatch::Column& column : batch.columns) {
    tensorflow::Feature& feature = (*example.mutable_features()->mutable_feature())[column.name];
    if (column.strings != nullptr) {
      const int64_t elements = column.row.num_elements();
      for (int64_t i = 0; i < elements; ++i) {
        feature.mutable_bytes_list()->add_value(column.strings[row * elements + i]);
      }
      continue;
    }
    const std::byte* const data = RowOf(column, row);
    const DType dtype = column.row.dtype;
    const int64_t parts = dtype == DType::kC64 ? 2 : 1;
    for (int64_t i = 0; i < parts * column.row.num_elements(); ++i) {
      if (IsFloat(dtype)) {
        feature.mutable_float_list()->add_value(FloatAt(dtype, data, i));
      } else {
        feature.mutable_int64_list()->add_value(IntAt(dtype, data, i));
      }
    }
  }
  return example;
}

class ToStandardOutput : public PredictionWriter {
 public:
  absl::Status Write(const PredictedBatch& batch) override { return WriteOutput(BatchText(batch)); }
  absl::Status Finish() override { return absl::OkStatus(); }
};

class ToJsonLines : public PredictionWriter {
 public:
  explicit ToJsonLines(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  absl::Status Write(const PredictedBatch& batch) override {
    return file_->Append(BatchText(batch));
  }
  absl::Status Finish() override { return file_->Commit(); }

 private:
  const std::unique_ptr<OutputFile> file_;
};

class ToRecords : public PredictionWriter {
 public:
  explicit ToRecords(std::unique_ptr<OutputFile> file) : file_(*file), records_(std::move(file)) {}

  absl::Status Write(const PredictedBatch& batch) override {
    for (int64_t row = 0; row < batch.rows; ++row) {
      RETURN_IF_ERROR(records_.Write(SerializeDeterministically(RowExample(batch, row))));
    }
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    RETURN_IF_ERROR(records_.Close());
    return file_.Commit();
  }

 private:
  OutputFile& file_;  // of records_
  RecordWriter records_;
};

// A protobuf message holds 2 GiB, a character at most 4 bytes.
constexpr int64_t kMaxCharactersOfRecord = int64_t{1} << 28;

// {"text":"..."} and a line break, piece by piece.
class TextToJsonLine : public TextWriter {
 public:
  using Sink = std::function<absl::Status(std::string_view bytes)>;

  explicit TextToJsonLine(Sink sink) : sink_(std::move(sink)) {}
  ~TextToJsonLine() override {
    if (open_) sink_(kEnd).IgnoreError();
  }

  absl::Status Write(std::string_view piece) override {
    const std::string quoted = JsonText(std::string(piece));
    const std::string escaped = quoted.substr(1, quoted.size() - 2);
    return Put(absl::StrCat(open_ ? "" : kBegin, escaped), /*open=*/true);
  }
  absl::Status Finish() override {
    return Put(absl::StrCat(open_ ? "" : kBegin, kEnd), /*open=*/false);
  }

 private:
  static constexpr char kBegin[] = "{\"text\":\"";
  static constexpr char kEnd[] = "\"}\n";

  absl::Status Put(std::string_view bytes, bool open) {
    open_ = false;  // nothing more goes to a sink that fails
    RETURN_IF_ERROR(sink_(bytes));
    open_ = open;
    return absl::OkStatus();
  }

  const Sink sink_;
  bool open_ = false;  // within the line
};

class TextToFile : public TextWriter {
 public:
  explicit TextToFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  absl::Status Write(std::string_view piece) override { return file_->Append(piece); }
  absl::Status Finish() override { return file_->Commit(); }

 private:
  const std::unique_ptr<OutputFile> file_;
};

class TextToJsonFile : public TextWriter {
 public:
  explicit TextToJsonFile(std::unique_ptr<OutputFile> file)
      : file_(std::move(file)),
        line_([this](std::string_view bytes) { return file_->Append(bytes); }) {}

  absl::Status Write(std::string_view piece) override { return line_.Write(piece); }
  absl::Status Finish() override {
    RETURN_IF_ERROR(line_.Finish());
    return file_->Commit();
  }

 private:
  const std::unique_ptr<OutputFile> file_;
  TextToJsonLine line_;
};

class TextToRecord : public TextWriter {
 public:
  explicit TextToRecord(std::unique_ptr<OutputFile> file) : records_(std::move(file)) {}

  absl::Status Write(std::string_view piece) override {
    text_.append(piece);
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    RETURN_IF_ERROR(records_.Write({.rows = 1, .columns = {{"text", Shape{}, nullptr, &text_}}}));
    return records_.Finish();
  }

 private:
  ToRecords records_;
  std::string text_;
};

// `endings`: those of the names that are taken.
absl::StatusOr<std::unique_ptr<OutputFile>> Open(const std::string& output,
                                                 const std::vector<std::string>& inputs,
                                                 const std::vector<std::string>& endings) {
  const bool known = std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    return absl::EndsWith(output, ending);
  });
  if (!known) {
    return absl::InvalidArgumentError(absl::StrCat("--output: got ", Quote(output),
                                                   ", want a name that ends in ",
                                                   absl::StrJoin(endings, " or ")));
  }
  ASSIGN_OR_RETURN(const FilePath file, ReplaceableFile(output, inputs));
  RemoveOnInterrupt({TemporaryName(file).text()});
  RemoveTemporaryFilesOf(file);
  return OutputFile::Create(file);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PredictionWriter>> MakePredictionWriter(
    const std::string& output, const std::vector<std::string>& inputs) {
  if (output.empty()) return std::make_unique<ToStandardOutput>();
  ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, Open(output, inputs, {kJsonLines, kRecords}));
  if (absl::EndsWith(output, kJsonLines)) return std::make_unique<ToJsonLines>(std::move(file));
  return std::make_unique<ToRecords>(std::move(file));
}

absl::StatusOr<std::unique_ptr<TextWriter>> MakeTextWriter(const std::string& output,
                                                           const std::vector<std::string>& inputs,
                                                           int64_t max_characters) {
  if (output.empty()) return std::make_unique<TextToJsonLine>(WriteOutput);
  const bool is_record = absl::EndsWith(output, kRecords);
  if (is_record && max_characters > kMaxCharactersOfRecord) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output: got ", Quote(output), " for ", max_characters,
                     " characters, and a record holds at most ", kMaxCharactersOfRecord,
                     "; want a name that ends in ", kText, " or ", kJsonLines));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                   Open(output, inputs, {kText, kJsonLines, kRecords}));
  if (is_record) return std::make_unique<TextToRecord>(std::move(file));
  if (absl::EndsWith(output, kText)) return std::make_unique<TextToFile>(std::move(file));
  return std::make_unique<TextToJsonFile>(std::move(file));
}

}  // namespace tpurun
