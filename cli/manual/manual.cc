#include "cli/manual/manual.h"

#include <string_view>
#include <vector>

namespace tpurun {
namespace {

struct File {
  const char* name;
  std::string_view text;
};
constexpr File kFiles[] = {
#include "cli/manual/pages.inc"
};

// Of "# NAME: TITLE".
std::string TitleOf(std::string_view text) {
  const std::string_view heading = text.substr(0, text.find('\n'));
  return std::string(heading.substr(heading.find(": ") + 2));
}

}  // namespace

std::span<const ManualPage> ManualPages() {
  static const std::vector<ManualPage>& pages = *[] {
    auto* made = new std::vector<ManualPage>;
    for (const File& file : kFiles) {
      made->push_back({file.name, TitleOf(file.text), std::string(file.text)});
    }
    return made;
  }();
  return pages;
}

}  // namespace tpurun
