#include "runtime/io/event_reader.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

template <typename T, typename List>
std::vector<double> Numbers(const std::string& content, const List& list) {
  if (content.empty()) return {list.begin(), list.end()};
  std::vector<double> numbers;
  for (size_t at = 0; at + sizeof(T) <= content.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, content.data() + at, sizeof number);
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventReader>> EventReader::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::OpenRegular(path));
  return std::make_unique<EventReader>(std::make_unique<RecordReader>(std::move(source), path),
                                       path);
}

absl::StatusOr<bool> EventReader::Read(tensorflow::Event* event) {
  const int64_t number = records_->num_records();
  const uint64_t offset = records_->offset();
  ASSIGN_OR_RETURN(const bool more, records_->Read(&record_));
  if (!more) return false;
  if (!event->ParseFromString(record_)) {
    return absl::DataLossError(
        absl::StrFormat("record %d of %s: not an Event (offset %d)", number, name_, offset));
  }
  return true;
}

std::vector<double> TensorNumbers(const tensorflow::TensorProto& tensor) {
  switch (tensor.dtype()) {
    case tensorflow::DT_FLOAT:
      return Numbers<float>(tensor.tensor_content(), tensor.float_val());
    case tensorflow::DT_DOUBLE:
      return Numbers<double>(tensor.tensor_content(), tensor.double_val());
    case tensorflow::DT_INT32:
      return Numbers<int32_t>(tensor.tensor_content(), tensor.int_val());
    case tensorflow::DT_INT64:
      return Numbers<int64_t>(tensor.tensor_content(), tensor.int64_val());
    default:
      return {};
  }
}

std::optional<std::vector<double>> TensorArray(const tensorflow::TensorProto& tensor) {
  constexpr int kMostDims = 254;  // TensorFlow's
  if (tensor.tensor_shape().dim_size() > kMostDims) return std::nullopt;
  std::vector<double> numbers = TensorNumbers(tensor);
  size_t left = numbers.size();
  for (const auto& dim : tensor.tensor_shape().dim()) {
    const auto size = static_cast<uint64_t>(dim.size());
    if (size == 0 || left % size != 0) return std::nullopt;
    left /= size;
  }
  if (left != 1) return std::nullopt;
  return numbers;
}

}  // namespace tpurun
