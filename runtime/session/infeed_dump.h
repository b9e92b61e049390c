// InfeedDump: a file of what each core finds in its infeed, for people and tests to look at.
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

// JSON lines, one a step and core:
//   {"step": 1, "core": 0, "rows": 16, "features": {"x": [[1, 0.5], ...], "label": [3, ...]}}
// `rows` are those of the core's batch, of which each feature and label shows the first kRows, and
// so does row_weight where there is one. NaN and the infinities are strings.
class InfeedDump {
 public:
  static constexpr int64_t kRows = 4;

  // DIR/NAME.jsonl, empty at first; makes the folder. Batch 0 is that of `first_step`.
  static absl::StatusOr<std::unique_ptr<InfeedDump>> Create(const std::string& dir,
                                                            const std::string& name,
                                                            const CoreProgram& program,
                                                            int64_t first_step);
  // `entry` is of LayoutOf(program.infeed). Other processes can read it then.
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
