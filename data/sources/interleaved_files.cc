#include "data/sources/interleaved_files.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/sources/files.h"
#include "runtime/base/cpu.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/io/file.h"

namespace tpurun {

InterleavedFiles::InterleavedFiles(std::vector<std::string> files, const Order& order)
    : files_(std::move(files)),
      order_(order),
      cycle_(std::min<size_t>(order.cycle_length, files_.size())) {
  if (cycle_.size() > 1 || order.reads_ahead) {
    read_ahead_.emplace(static_cast<int>(std::min(cycle_.size(), AllowedCpus().size())));
  }
  OrderFiles(0);
}

absl::StatusOr<bool> InterleavedFiles::Read(SourceRecord* record) {
  while (num_open_ > 0 || next_file_ < sequence_.size()) {
    Place& place = cycle_[turn_];
    if (place.file == nullptr) {
      if (next_file_ == sequence_.size()) {
        NextTurn();
        continue;
      }
      RETURN_IF_ERROR(OpenNextFile(&place));
    }
    ASSIGN_OR_RETURN(const bool found, place.file->Read(record));
    if (found) {
      if (record != nullptr) record->origin.file = place.index;
      if (++in_turn_ == order_.block_length) NextTurn();
      return true;
    }
    RETURN_IF_ERROR(place.file->CheckEnd());
    place.file = nullptr;
    --num_open_;
    NextTurn();
  }
  return false;
}

absl::Status InterleavedFiles::StartEpoch(int64_t epoch) {
  // At the start of a pass nothing was read, and a pipe need not be read again.
  if (next_file_ > 0) RETURN_IF_ERROR(CheckReadableAgain(files_));
  for (Place& place : cycle_) place.file = nullptr;
  num_open_ = 0;
  turn_ = 0;
  in_turn_ = 0;
  next_file_ = 0;
  OrderFiles(epoch);
  return absl::OkStatus();
}

std::string InterleavedFiles::Where(const Origin& origin) const {
  return absl::StrCat("record ", origin.record, " of ", FileTitle(files_[origin.file]), " (offset ",
                      origin.offset, ")");
}

void InterleavedFiles::OrderFiles(int64_t epoch) {
  sequence_.resize(files_.size());
  std::iota(sequence_.begin(), sequence_.end(), 0);
  if (!order_.shuffle_files) return;
  for (size_t i = sequence_.size(); i > 1; --i) {
    const auto lanes =
        PhiloxBlock(order_.seed, StreamOf("shuffle_files"), static_cast<uint32_t>(epoch), 0, i);
    std::swap(sequence_[i - 1], sequence_[UniformBelow(lanes[0], lanes[1], i)]);
  }
}

absl::Status InterleavedFiles::OpenNextFile(Place* place) {
  place->index = sequence_[next_file_++];
  ASSIGN_OR_RETURN(place->file, OpenFile(place->index));
  // The lines of a pipe are not kept back until a block is full.
  if (read_ahead_.has_value() && IsRegularFile(files_[place->index])) {
    place->file = read_ahead_->Wrap(std::move(place->file));
  }
  ++num_open_;
  return absl::OkStatus();
}

void InterleavedFiles::NextTurn() {
  in_turn_ = 0;
  if (++turn_ == cycle_.size()) turn_ = 0;
}

InterleavedFiles::Order OrderOf(const proto::Interleave& interleave) {
  return {.cycle_length = std::max<int64_t>(interleave.cycle_length(), 1),
          .block_length = interleave.block_length()};
}

std::string DescribeInterleave(const proto::Interleave& interleave) {
  if (!interleave.has_cycle_length()) return "";
  return absl::StrCat(" interleave ", interleave.cycle_length(), " ", interleave.block_length());
}

}  // namespace tpurun
