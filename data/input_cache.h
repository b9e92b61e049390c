// What a cache holds of an input.
#ifndef TPURUN_DATA_INPUT_CACHE_H_
#define TPURUN_DATA_INPUT_CACHE_H_

#include <cstddef>
#include <vector>

#include "data/elements.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"

namespace tpurun {

// Transforms and their stages, as RowMapArgs has them.
struct MovedTransforms {
  std::vector<RowTransform> transforms;
  std::vector<size_t> stages;
};

// *map has the transforms in front of a cache. A conversion that makes rows much larger (f32 values
// of the bytes of an image) is taken out of it and returned, with its stage, if no other of these
// transforms depends on it. Its place is behind the cache, which then holds the smaller rows: it
// makes the same values of them in each epoch. The outputs of those that stay in *map become those
// without it.
// `source`: the columns in front of the transforms. *columns: those that the cache has to provide;
// afterwards those that it holds, with what the conversions read in place of what they make.
MovedTransforms TakeConversions(const Schema& source, RowMapArgs* map, Schema* columns);

}  // namespace tpurun

#endif  // TPURUN_DATA_INPUT_CACHE_H_
