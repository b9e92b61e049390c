#include "runtime/session/infeed_dump.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

template <typename T>
T ElementAt(const std::byte* values, int64_t i) {
  T value;
  std::memcpy(&value, values + i * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

std::string JsonText(float value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return ShortestText(value);
}

std::string ElementText(DType dtype, const std::byte* values, int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return JsonText(ElementAt<float>(values, i));
    case DType::kBF16:
      return JsonText(FromBFloat16Bits(ElementAt<uint16_t>(values, i)));
    case DType::kS32:
      return absl::StrCat(ElementAt<int32_t>(values, i));
    case DType::kU32:
      return absl::StrCat(ElementAt<uint32_t>(values, i));
    case DType::kS64:
      return absl::StrCat(ElementAt<int64_t>(values, i));
    case DType::kU8:
      return absl::StrCat(ElementAt<uint8_t>(values, i));
    case DType::kPred:
      return ElementAt<uint8_t>(values, i) != 0 ? "true" : "false";
    case DType::kC64:
      return absl::StrCat("[", JsonText(ElementAt<float>(values, 2 * i)), ",",
                          JsonText(ElementAt<float>(values, 2 * i + 1)), "]");
  }
  return "";
}

// Appends the first `rows` rows, nested by the shape.
void AppendRows(const Shape& shape, int64_t rows, const std::byte* values, std::string* text) {
  const int64_t elements = rows * shape.row_elements();
  if (elements == 0) text->append("[]");
  for (int64_t i = 0; i < elements; ++i) {
    text->append(i == 0 ? "" : ",");
    // The numbers of lists that begin and end with this element.
    size_t begin = i == 0 ? 1 : 0, end = i + 1 == elements ? 1 : 0;
    int64_t block = 1;
    for (size_t dim = shape.dims.size(); dim-- > 1;) {
      block *= shape.dims[dim];
      begin += i % block == 0;
      end += (i + 1) % block == 0;
    }
    text->append(begin, '[');
    text->append(ElementText(shape.dtype, values, i));
    text->append(end, ']');
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<InfeedDump>> InfeedDump::Create(
    const std::string& dir, const std::string& name, std::vector<InfeedSlot> slots,
    const Numbers& numbers, const std::vector<std::string>& inputs) {
  RETURN_IF_ERROR(MakeDirectories(dir));
  const std::string path = JoinPath(dir, name + ".jsonl");
  // What else ReplaceableFile refuses, a pipe or a device, is written to.
  const absl::Status replaced = ReplaceableFile(path, inputs).status();
  if (absl::IsInvalidArgument(replaced)) return replaced;
  ASSIGN_OR_RETURN(std::unique_ptr<FileSink> file, FileSink::Create(path));
  return std::unique_ptr<InfeedDump>(new InfeedDump(std::move(file), std::move(slots), numbers));
}

InfeedDump::InfeedDump(std::unique_ptr<FileSink> file, std::vector<InfeedSlot> slots,
                       const Numbers& numbers)
    : file_(std::move(file)), slots_(std::move(slots)), numbers_(numbers) {}

absl::Status InfeedDump::Write(int64_t batch, const std::byte* entry,
                               const std::vector<InfeedSlot>* slots) {
  if (slots == nullptr) slots = &slots_;
  const SlotLayout layout = LayoutOf(*slots, numbers_.num_cores);
  std::string lines;
  for (int core = 0; core < numbers_.num_cores; ++core) {
    absl::StrAppend(&lines, "{\"step\":", numbers_.first_step + batch,
                    ",\"core\":", numbers_.first_core + core);
    AppendCore(*slots, layout, core, entry, &lines);
    absl::StrAppend(&lines, "}\n");
  }
  RETURN_IF_ERROR(file_->Append(lines));
  return file_->Flush();
}

void InfeedDump::AppendCore(const std::vector<InfeedSlot>& slots, const SlotLayout& layout,
                            int core, const std::byte* entry, std::string* text) {
  const int64_t rows = slots.empty() ? 0 : slots[0].shape.dims[0];
  absl::StrAppend(text, ",\"rows\":", rows, ",\"features\":{");
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    absl::StrAppend(text, slot == 0 ? "" : ",", Quote(slots[slot].name), ":");
    AppendRows(slots[slot].shape, std::min(rows, kRows),
               entry + layout.offsets[slot] + core * layout.replica_bytes[slot], text);
  }
  text->append("}");
}

}  // namespace tpurun
