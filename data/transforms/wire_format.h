// Iterates over the fields of a serialized protobuf message of any type. Source of the format:
// protobuf.dev/programming-guides/encoding.
#ifndef TPURUN_DATA_TRANSFORMS_WIRE_FORMAT_H_
#define TPURUN_DATA_TRANSFORMS_WIRE_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "runtime/io/varint.h"

namespace tpurun {

struct WireField {
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  uint32_t number = 0;
  Type type = kVarint;
  std::string_view bytes;  // a view into the message: the bytes after the tag, without the length
};

// Removes a field from the front of *message, which must not be empty. False if the field is
// malformed. Inlined, because a call would cost as much as most fields.
[[gnu::always_inline]] inline bool ConsumeField(std::string_view* message, WireField* field) {
  uint64_t tag;
  if (!ConsumeVarint(message, &tag) || (tag >> 3) == 0 || (tag >> 3) > 0x1fffffff) return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  field->type = static_cast<WireField::Type>(tag & 7);
  uint64_t size;
  switch (field->type) {
    case WireField::kVarint: {
      const char* const begin = message->data();
      uint64_t value;
      if (!ConsumeVarint(message, &value)) return false;
      field->bytes = {begin, static_cast<size_t>(message->data() - begin)};
      return true;
    }
    case WireField::kFixed64:
      size = 8;
      break;
    case WireField::kFixed32:
      size = 4;
      break;
    case WireField::kBytes:
      if (!ConsumeVarint(message, &size)) return false;
      break;
    default:
      return false;
  }
  if (size > message->size()) return false;
  field->bytes = message->substr(0, size);
  message->remove_prefix(size);
  return true;
}

}  // namespace tpurun

#endif  // TPURUN_DATA_TRANSFORMS_WIRE_FORMAT_H_
