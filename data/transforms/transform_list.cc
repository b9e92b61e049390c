#include "data/transforms/transform_list.h"

#include "google/protobuf/descriptor.h"

namespace tpurun {
namespace {

constexpr TransformDef kTransforms[] = {
    // Rows.
    {.kind = proto::Transform::kDecodeCsv, .name = "decode_csv", .bind = BindDecodeCsv},
    {.kind = proto::Transform::kParseExample, .name = "parse_example", .bind = BindParseExample},
    {.kind = proto::Transform::kDecodeRaw, .name = "decode_raw", .bind = BindDecodeRaw},
    {.kind = proto::Transform::kCast, .name = "cast", .bind = BindCast},
    {.kind = proto::Transform::kLookup, .name = "lookup", .bind = BindLookup},
    {.kind = proto::Transform::kNormalize, .name = "normalize", .bind = BindNormalize},
    // Items.
    {.kind = proto::Transform::kShuffle,
     .name = "shuffle",
     .make_items = MakeShuffle,
     .count = CountShuffle,
     .random = true},
    {.kind = proto::Transform::kRepeat,
     .name = "repeat",
     .check = CheckRepeat,
     .make_items = MakeRepeat,
     .count = CountRepeat},
    {.kind = proto::Transform::kTake, .name = "take", .make_items = MakeTake, .count = CountTake},
    {.kind = proto::Transform::kSkip, .name = "skip", .make_items = MakeSkip, .count = CountSkip},
    {.kind = proto::Transform::kShard,
     .name = "shard",
     .check = CheckShard,
     .make_items = MakeShard,
     .count = CountShard},
    // Structural.
    {.kind = proto::Transform::kApply, .name = "apply"},
    {.kind = proto::Transform::kCache, .name = "cache"},
    {.kind = proto::Transform::kBatch, .name = "batch"},
    {.kind = proto::Transform::kPrefetch, .name = "prefetch"},
};

}  // namespace

std::span<const TransformDef> TransformList() { return kTransforms; }

const TransformDef* FindTransform(proto::Transform::KindCase kind) {
  for (const TransformDef& def : kTransforms) {
    if (def.kind == kind) return &def;
  }
  return nullptr;
}

std::string TransformName(const proto::Transform& transform) {
  const auto* const field =
      proto::Transform::descriptor()->FindFieldByNumber(transform.kind_case());
  return field == nullptr ? "" : field->name();
}

bool IsEndlessRepeat(const proto::Transform& transform) {
  return transform.has_repeat() && transform.repeat().count() == -1;
}

}  // namespace tpurun
