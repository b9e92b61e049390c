// The manual's pages, by topic: the .md files of this folder.
#ifndef TPURUN_CLI_MANUAL_MANUAL_H_
#define TPURUN_CLI_MANUAL_MANUAL_H_

#include <span>
#include <string>

namespace tpurun {

struct ManualPage {
  std::string name;   // "training", its file without .md
  std::string title;  // "steps, interrupts, averages, warm starts": one line, from its heading
  std::string text;   // Markdown, from the heading on
};

// In the order of their names.
std::span<const ManualPage> ManualPages();

}  // namespace tpurun

#endif  // TPURUN_CLI_MANUAL_MANUAL_H_
