// string_to_hash_bucket_fast { feature output num_buckets }: the fingerprint of a string modulo
// num_buckets, and cross { feature output num_buckets }: that of several features together.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/text_ids.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

// tsl::FingerprintCat64, tsl/platform/fingerprint.h.
uint64_t JoinFingerprints(uint64_t a, uint64_t b) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995u;
  const auto shift_mix = [](uint64_t value) { return value ^ (value >> 47); };
  uint64_t joined = a ^ kMultiplier;
  joined ^= shift_mix(b * kMultiplier) * kMultiplier;
  joined *= kMultiplier;
  joined = shift_mix(joined) * kMultiplier;
  return shift_mix(joined);
}

// As tf.sparse.cross_hashed with its default key: an integer is its own fingerprint.
void CrossColumns(const std::vector<const Column*>& from, int64_t rows, uint64_t num_buckets,
                  Column* to) {
  constexpr uint64_t kDefaultKey = 0xDECAFCAFFE;
  to->bytes.resize(rows * sizeof(int64_t));
  const std::span<int64_t> ids = to->values<int64_t>();
  for (int64_t row = 0; row < rows; ++row) {
    uint64_t hash = kDefaultKey;
    for (const Column* const column : from) {
      hash = JoinFingerprints(hash, column->type.dtype == proto::STRING
                                        ? Fingerprint64(column->string(row))
                                        : static_cast<uint64_t>(column->values<int64_t>()[row]));
    }
    ids[row] = static_cast<int64_t>(hash % num_buckets);
  }
}

}  // namespace

std::optional<RowTransform> BindHashBucket(const proto::Transform& transform, const Schema& input,
                                           ConfigErrors& errors) {
  const proto::HashBucket& hash = transform.string_to_hash_bucket_fast();
  std::optional<RowTransform> bound = BindFeatures(
      hash.feature(), hash.has_output() ? &hash.output() : nullptr, input, TypeOfIds, errors);
  if (!bound.has_value()) return std::nullopt;
  bound->apply = [from = bound->reads, to = bound->makes,
                  num_buckets = static_cast<uint64_t>(hash.num_buckets())](const RowBatch& rows,
                                                                           Table* out) {
    for (size_t i = 0; i < from.size(); ++i) {
      FillIds(
          rows.in.column(from[i]),
          [num_buckets](std::string_view text) {
            return static_cast<int64_t>(Fingerprint64(text) % num_buckets);
          },
          &out->column(to[i]));
    }
    return absl::OkStatus();
  };
  std::vector<bool> is_string;
  for (size_t i = 0; i < bound->reads.size(); ++i) {
    is_string.push_back(ReadColumn(*bound, input, i).dtype == proto::STRING);
  }
  bound->tensorflow = [from = bound->reads, to = bound->makes, is_string,
                       num_buckets = hash.num_buckets()](ExportGraph& graph,
                                                         const std::set<std::string>& wanted,
                                                         std::map<std::string, Value>& columns) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (wanted.count(to[i]) == 0) continue;
      Value text = columns.at(from[i]);
      if (!is_string[i]) text = graph.Add("AsString", {text}, {{"T", ElementType::kInt64}});
      columns[to[i]] = graph.Add("StringToHashBucketFast", {text}, {{"num_buckets", num_buckets}});
    }
  };
  return bound;
}

std::optional<RowTransform> BindCross(const proto::Transform& transform, const Schema& input,
                                      ConfigErrors& errors) {
  const proto::HashBucket& cross = transform.cross();
  if (cross.feature_size() < 2) {
    errors.Add("feature", absl::StrCat("want two or more features, which are hashed together, got ",
                                       cross.feature_size()));
  }
  RowTransform bound{.output = input};
  for (int i = 0; i < cross.feature_size(); ++i) {
    const std::string& feature = cross.feature(i);
    const std::string path = ElementPath("feature", i);
    const int index = FindFeature(input, feature, path, errors);
    if (index < 0) continue;
    const absl::Status hashable = TypeOfIds(input[index]).status();
    if (!hashable.ok()) {
      errors.Add(path, std::string(hashable.message()));
    } else if (!input[index].dims.empty()) {
      errors.Add(path, absl::StrCat("feature ", Quote(feature), " must be a scalar, got ",
                                    input[index].ToString()));
    }
    bound.reads.push_back(feature);
  }
  const std::string output =
      cross.has_output() ? cross.output() : absl::StrJoin(cross.feature(), "_X_");
  CheckColumnName(output, {}, "output", errors);
  if (!errors.empty()) return std::nullopt;
  PutColumn({output, proto::INT64, {}}, &bound.output);
  bound.makes = {output};
  bound.apply = [features = bound.reads, output,
                 num_buckets = static_cast<uint64_t>(cross.num_buckets())](const RowBatch& rows,
                                                                           Table* out) {
    std::vector<const Column*> columns;
    for (const std::string& feature : features) columns.push_back(&rows.in.column(feature));
    CrossColumns(columns, rows.in.rows, num_buckets, &out->column(output));
    return absl::OkStatus();
  };
  return bound;
}

}  // namespace tpurun
