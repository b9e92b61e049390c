// The pages of the manual, by topic: the .md files of this folder.
#ifndef TPURUN_CLI_MANUAL_MANUAL_H_
#define TPURUN_CLI_MANUAL_MANUAL_H_

#include <span>
#include <string>

namespace tpurun {

struct ManualPage {
  std::string name;   // the file name without .md: "training"
  std::string title;  // the heading, one line: "steps, interrupts, averages, warm starts"
  std::string text;   // Markdown, from the heading on
};

// Sorted by name.
std::span<const ManualPage> ManualPages();

}  // namespace tpurun

#endif  // TPURUN_CLI_MANUAL_MANUAL_H_
