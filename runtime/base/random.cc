#include "runtime/base/random.h"

#include "runtime/base/clones.h"

namespace tpurun {
namespace {

void DrawPlainly(const PhiloxCounters& of, PhiloxBlocks& blocks) {
  for (int l = 0; l < kPhiloxLanes; ++l) {
    const uint64_t block = of.first + static_cast<uint64_t>(l) * of.stride;
    const r123::Philox4x32::ctr_type words = r123::Philox4x32()(
        {{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), of.a, of.b}},
        {{of.key0, of.key1}});
    for (int w = 0; w < 4; ++w) blocks.words[w][l] = words[w];
  }
}

}  // namespace

void DrawPhiloxBlocks(uint64_t seed, uint32_t stream, uint32_t a, uint32_t b, uint64_t first,
                      uint64_t stride, PhiloxBlocks& blocks) {
  const PhiloxCounters of = {
      .first = first, .stride = stride, .a = a, .b = b, .key0 = PhiloxKey(seed), .key1 = stream};
  switch (kBestInstructionSet) {
    case InstructionSet::kAvx512:
      return DrawPhiloxByAvx512(of, blocks);
    case InstructionSet::kAvx2:
      return DrawPhiloxByAvx2(of, blocks);
    case InstructionSet::kPlain:
      return DrawPlainly(of, blocks);
  }
}

}  // namespace tpurun
