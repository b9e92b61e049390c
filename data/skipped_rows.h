// SkippedRows: the elements that `on_error: SKIP` has left out of an input.
#ifndef TPURUN_DATA_SKIPPED_ROWS_H_
#define TPURUN_DATA_SKIPPED_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tpurun {

// Used by one thread at a time.
class SkippedRows {
 public:
  using Warn = std::function<void(const std::string& message)>;

  // `warn` is called for the first element, and by the destructor if there are more. `where`: the
  // place of the input.
  SkippedRows(std::string where, Warn warn) : where_(std::move(where)), warn_(std::move(warn)) {}
  ~SkippedRows() {
    if (count_ < 2) return;
    warn_(absl::StrCat(where_, ": on_error: SKIP has left out ", count_,
                       " elements; the first: ", first_));
  }
  SkippedRows(const SkippedRows&) = delete;
  SkippedRows& operator=(const SkippedRows&) = delete;

  // True if the element that `error` is about can be left out: its data is wrong.
  static bool CanSkip(const absl::Status& error) {
    return absl::IsDataLoss(error) || absl::IsInvalidArgument(error);
  }

  // Counts a left out element, or returns an error after too many in a row.
  absl::Status Skip(const absl::Status& error) {
    const std::string message(error.message());
    if (count_++ == 0) {
      first_ = message;
      warn_(absl::StrCat(where_, ": on_error: SKIP leaves out an element: ", first_));
    }
    if (++in_a_row_ < kMostInARow) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("on_error: SKIP has left out ", kMostInARow,
                                            " elements in a row; the last of them: ", message));
  }
  // Tells of an element that no transform has refused.
  void Keep() { in_a_row_ = 0; }

 private:
  static constexpr int kMostInARow = 1000;

  const std::string where_;
  const Warn warn_;
  int64_t count_ = 0;
  int64_t in_a_row_ = 0;
  std::string first_;  // the message about the first one
};

}  // namespace tpurun

#endif  // TPURUN_DATA_SKIPPED_ROWS_H_
