// InfeedDump: a file with the infeed of each core, for people and tests.
#ifndef TPURUN_RUNTIME_SESSION_INFEED_DUMP_H_
#define TPURUN_RUNTIME_SESSION_INFEED_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/io/file.h"
#include "runtime/program/core_program.h"

namespace tpurun {

// JSON lines, one per step and core:
//   {"step": 1, "core": 0, "rows": 16, "features": {"x": [[1, 0.5], ...], "label": [3, ...]}}
// `rows` is the number of rows in the core's batch. Each feature and label, and row_weight if it
// exists, shows the first kRows rows. NaN and the infinities are strings.
class InfeedDump {
 public:
  static constexpr int64_t kRows = 4;

  struct Numbers {
    int64_t first_step = 1;  // of batch 0
    // The cores that an entry is for.
    int first_core = 0;
    int num_cores = 1;
  };

  // Creates DIR/NAME.jsonl, empty, and the directory. InvalidArgument if it is one of `inputs`.
  static absl::StatusOr<std::unique_ptr<InfeedDump>> Create(
      const std::string& dir, const std::string& name, std::vector<InfeedSlot> slots,
      const Numbers& numbers, const std::vector<std::string>& inputs = {});
  // `entry` has the layout LayoutOf(slots, num_cores), of those `slots` or, if they are nullptr, of
  // those of Create. After the call other processes can read the lines.
  absl::Status Write(int64_t batch, const std::byte* entry,
                     const std::vector<InfeedSlot>* slots = nullptr);

 private:
  InfeedDump(std::unique_ptr<FileSink> file, std::vector<InfeedSlot> slots, const Numbers& numbers);
  // `core` counts those of an entry.
  static void AppendCore(const std::vector<InfeedSlot>& slots, const SlotLayout& layout, int core,
                         const std::byte* entry, std::string* text);

  const std::unique_ptr<FileSink> file_;
  const std::vector<InfeedSlot> slots_;
  const Numbers numbers_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_INFEED_DUMP_H_
