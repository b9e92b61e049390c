// repeat { count }: pass after pass; without a count for ever.
#include <limits>
#include <utility>

#include "data/transforms/transform_list.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

class RepeatedItems : public ItemStream {
 public:
  RepeatedItems(ItemTransformArgs args, int64_t count)
      : before_(std::move(args.before)), empty_(std::move(args.empty)), count_(count) {}

  absl::Status StartEpoch(int64_t epoch) override {
    first_epoch_ = count_ < 0 ? epoch : epoch * count_;
    finished_ = 0;
    in_this_pass_ = 0;
    return before_->StartEpoch(first_epoch_);
  }

  absl::StatusOr<int64_t> Next(std::span<Item> items) override {
    size_t given = 0;
    while (given < items.size() && finished_ != count_) {
      ASSIGN_OR_RETURN(const int64_t got, before_->Next(items.subspan(given)));
      given += got;
      in_this_pass_ += got;
      if (given == items.size()) break;
      if (count_ < 0 && in_this_pass_ == 0) return absl::DataLossError(empty_);
      ++finished_;
      in_this_pass_ = 0;
      if (finished_ != count_) RETURN_IF_ERROR(before_->StartEpoch(first_epoch_ + finished_));
    }
    return given;
  }

  void SavePosition(std::string* text) const override {
    absl::StrAppend(text, " repeat ", first_epoch_, " ", finished_, " ", in_this_pass_);
    before_->SavePosition(text);
  }

  absl::Status RestorePosition(PositionReader& position) override {
    RETURN_IF_ERROR(position.Name("repeat"));
    ASSIGN_OR_RETURN(first_epoch_, position.Number());
    ASSIGN_OR_RETURN(finished_, position.Number());
    ASSIGN_OR_RETURN(in_this_pass_, position.Number());
    return before_->RestorePosition(position);
  }

  bool crosses_epochs() const override { return true; }

 private:
  const std::unique_ptr<ItemStream> before_;
  const std::string empty_;
  const int64_t count_;       // -1: endless
  int64_t first_epoch_ = 0;   // of before_, in this pass of ours
  int64_t finished_ = 0;      // passes of before_ in this pass of ours
  int64_t in_this_pass_ = 0;  // items of the current pass of before_
};

}  // namespace

void CheckRepeat(const proto::Transform& transform, ConfigErrors& errors) {
  // So many passes of so many passes still have a number.
  constexpr int64_t kMaxCount = int64_t{1} << 31;
  const int64_t count = transform.repeat().count();
  if (count < 0 || (count > 0 && count <= kMaxCount)) return;  // its rule tells of those below -1
  errors.Add("count", absl::StrCat("count must be in [1, ", kMaxCount,
                                   "], or left out to repeat for ever, got ", count));
}

std::unique_ptr<ItemStream> MakeRepeat(const proto::Transform& transform, ItemTransformArgs args) {
  return std::make_unique<RepeatedItems>(std::move(args), transform.repeat().count());
}

int64_t CountRepeat(const proto::Transform& transform, int64_t before) {
  int64_t after = 0;
  const bool overflow = __builtin_mul_overflow(before, transform.repeat().count(), &after);
  return overflow ? std::numeric_limits<int64_t>::max() : after;
}

}  // namespace tpurun
