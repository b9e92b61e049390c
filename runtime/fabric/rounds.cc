#include "runtime/fabric/rounds.h"

namespace tpurun {
namespace {

std::vector<Round> RoundsOfShortSum(int64_t bytes, int size) {
  std::vector<Round> rounds;
  for (int distance = 1; distance < size; distance *= 2) rounds.push_back({bytes, bytes});
  return rounds;
}

std::vector<Round> RoundsOfSumByHalves(const Collective& sum, int rank, int size) {
  const int64_t piece = kPieceBytes / sum.element_bytes;
  std::vector<Round> rounds, doubling;
  const auto add = [&](std::vector<Round>& to, int64_t sent, int64_t received) {
    if (sent + received > 0) to.push_back({sent * sum.element_bytes, received * sum.element_bytes});
  };
  VectorPart part = {0, sum.count};
  for (int distance = 1; distance < size; distance *= 2) {
    const auto [kept, given] = Halve(part, rank & distance);
    const int64_t longer = std::max(kept.size(), given.size());
    for (int64_t done = 0; done < longer; done += piece)
      add(rounds, given.Piece(done, piece).size(), kept.Piece(done, piece).size());
    add(doubling, kept.size(), given.size());
    part = kept;
  }
  rounds.insert(rounds.end(), doubling.rbegin(), doubling.rend());
  return rounds;
}

std::vector<Round> RoundsOfGather(int64_t bytes, int size) {
  std::vector<Round> rounds;
  for (int64_t distance = 1; distance < size; distance *= 2)
    rounds.push_back({distance * bytes, distance * bytes});
  return rounds;
}

}  // namespace

VectorHalves Halve(const VectorPart& part, bool keep_upper) {
  const int64_t middle = std::min(part.end, part.begin + (part.size() / 2 + 15) / 16 * 16);
  const VectorPart lower = {part.begin, middle}, upper = {middle, part.end};
  return keep_upper ? VectorHalves{upper, lower} : VectorHalves{lower, upper};
}

std::vector<Round> RoundsOf(const Collective& collective, int rank, int size) {
  const int64_t bytes = collective.count * collective.element_bytes;
  if (bytes == 0) return {};
  if (collective.kind == Collective::Kind::kGather) return RoundsOfGather(bytes, size);
  return bytes <= kShortVectorBytes ? RoundsOfShortSum(bytes, size)
                                    : RoundsOfSumByHalves(collective, rank, size);
}

double SecondsOf(const Collective& collective, int size, const Link& link) {
  double longest = 0;
  for (int rank = 0; rank < size; ++rank) {
    double seconds = 0;
    for (const Round& round : RoundsOf(collective, rank, size)) seconds += link.Seconds(round);
    longest = std::max(longest, seconds);
  }
  return longest;
}

}  // namespace tpurun
