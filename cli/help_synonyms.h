// Common words for things that have another name in `help`.
#ifndef TPURUN_CLI_HELP_SYNONYMS_H_
#define TPURUN_CLI_HELP_SYNONYMS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tpurun {

struct HelpSynonym {
  std::string_view words;      // separated by blanks, with _ within a term of several words
  std::string_view names;      // separated by blanks: names of `help` pages, the nearest first
  std::string_view note = {};  // if there is no such thing in tpurun
};
std::span<const HelpSynonym> HelpSynonyms();

struct HelpRelated {
  std::vector<std::string> names;
  std::string note;
};
// Returns the help pages for a word in the singular or plural: the topic of that name, and the
// names in the rows that have the word.
HelpRelated RelatedHelp(const std::string& word);

// "losses", "loss" -> "loss"; "summaries" -> "summary".
std::string Singular(const std::string& word);

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_SYNONYMS_H_
