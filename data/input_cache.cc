#include "data/input_cache.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "data/transforms/bind_features.h"

namespace tpurun {
namespace {

// Of a row. Rows of less, as of a table, are only copied to a batch, and a transform of each block
// would take longer (a choice, not measured).
constexpr int64_t kLeastBytesSaved = 256;

// Whether the conversion makes rows much larger. If something of what it makes is not needed, among
// `columns`, it is not taken: it makes all or nothing.
bool MakesRowsLarger(const RowTransform& conversion, const Schema& before, const Schema& columns) {
  int64_t saved = 0;
  for (size_t i = 0; i < conversion.makes.size(); ++i) {
    const int made = FindColumn(columns, conversion.makes[i]);
    if (made < 0) return false;
    const ColumnType& to = columns[made];
    const ColumnType& from = before[FindColumn(before, conversion.reads[i])];
    // What varies in size is taken to be large.
    const int64_t elements = to.varies() ? kLeastBytesSaved : to.elements();
    saved += (ElementBytes(to.dtype) - ElementBytes(from.dtype)) * elements;
  }
  return saved >= kLeastBytesSaved;
}

// Changes `schema`, columns behind the conversion, to those without it: what it makes has the type
// that it has before, or is missing, and what it reads is there.
void Undo(const RowTransform& conversion, const Schema& before, Schema* schema) {
  for (const std::string& name : conversion.makes) {
    if (FindColumn(before, name) >= 0) continue;
    schema->erase(schema->begin() + FindColumn(*schema, name));
  }
  for (const ColumnType& type : before) {
    const auto is_of = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), type.name) != names.end();
    };
    if (is_of(conversion.makes) || is_of(conversion.reads)) PutColumn(type, schema);
  }
}

}  // namespace

MovedTransforms TakeConversions(const Schema& source, RowMapArgs* map, Schema* columns) {
  MovedTransforms moved;
  std::vector<RowTransform>& transforms = map->transforms;
  for (size_t i = transforms.size(); i-- > 0;) {
    RowTransform& conversion = transforms[i];
    const Schema& before = i == 0 ? source : transforms[i - 1].output;
    const std::span behind = std::span(transforms).subspan(i + 1);
    const bool can_follow = std::all_of(
        behind.begin(), behind.end(),
        [&](const RowTransform& transform) { return AreIndependent(conversion, transform); });
    if (!conversion.is_conversion || !can_follow ||
        !MakesRowsLarger(conversion, before, *columns)) {
      continue;
    }
    for (RowTransform& transform : behind) Undo(conversion, before, &transform.output);
    conversion.output = *columns;
    for (const std::string& name : conversion.makes) {
      columns->erase(columns->begin() + FindColumn(*columns, name));
    }
    for (const std::string& name : conversion.reads) {
      if (FindColumn(*columns, name) < 0) columns->push_back(before[FindColumn(before, name)]);
    }
    moved.transforms.insert(moved.transforms.begin(), std::move(conversion));
    transforms.erase(transforms.begin() + i);
    if (map->stages.empty()) continue;  // not measured
    moved.stages.insert(moved.stages.begin(), map->stages[i]);
    map->stages.erase(map->stages.begin() + i);
  }
  return moved;
}

}  // namespace tpurun
