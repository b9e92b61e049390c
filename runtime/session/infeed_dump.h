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

  // Creates DIR/NAME.jsonl, empty, and the directory. Batch 0 is the batch of `first_step`.
  static absl::StatusOr<std::unique_ptr<InfeedDump>> Create(const std::string& dir,
                                                            const std::string& name,
                                                            const CoreProgram& program,
                                                            int64_t first_step);
  // `entry` has the layout LayoutOf(program.infeed). After the call other processes can read the
  // lines.
  absl::Status Write(int64_t batch, const std::byte* entry);

 private:
  InfeedDump(std::unique_ptr<FileSink> file, const CoreProgram& program, int64_t first_step);
  void AppendCore(int core, const std::byte* entry, std::string* text) const;

  const std::unique_ptr<FileSink> file_;
  const std::vector<InfeedSlot> slots_;
  const SlotLayout layout_;
  const int num_cores_;
  const int64_t first_step_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_SESSION_INFEED_DUMP_H_
