// Formats a page of Markdown for a terminal.
#ifndef TPURUN_CLI_MANUAL_RENDER_H_
#define TPURUN_CLI_MANUAL_RENDER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tpurun {

// Supports the Markdown that the manual uses. Headings, paragraphs and lists are wrapped at
// `columns`. Each row of a table becomes a paragraph, with the first cell above the others. Code
// blocks are indented and their lines are not wrapped.
std::string RenderMarkdown(std::string_view markdown, size_t columns);

// Wraps `text` into lines of at most `columns` characters that begin with `indent` spaces. The
// first line begins with `first` instead, padded to `indent` characters. `first` must not be longer
// than that.
std::string Wrapped(std::string_view text, size_t columns, size_t indent,
                    std::string_view first = "");

}  // namespace tpurun

#endif  // TPURUN_CLI_MANUAL_RENDER_H_
