// A page of Markdown as a terminal shows it.
#ifndef TPURUN_CLI_MANUAL_RENDER_H_
#define TPURUN_CLI_MANUAL_RENDER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tpurun {

// What the pages of the manual have of Markdown: headings, paragraphs and lists, which are wrapped
// at `columns`; tables, whose rows become a paragraph each, the first cell above the others; blocks
// of code, which are indented and keep their lines, however long.
std::string RenderMarkdown(std::string_view markdown, size_t columns);

// The words of `text` in lines of at most `columns` that begin with `indent` spaces, the first of
// them with `first` instead, which is as long or shorter.
std::string Wrapped(std::string_view text, size_t columns, size_t indent,
                    std::string_view first = "");

}  // namespace tpurun

#endif  // TPURUN_CLI_MANUAL_RENDER_H_
