// Words of the field for what `help` calls otherwise.
#ifndef TPURUN_CLI_HELP_SYNONYMS_H_
#define TPURUN_CLI_HELP_SYNONYMS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tpurun {

struct HelpSynonym {
  std::string_view words;      // with blanks between, of several words with _ between
  std::string_view names;      // likewise: what `help` has pages of, the first the nearest
  std::string_view note = {};  // where there is no such thing
};
std::span<const HelpSynonym> HelpSynonyms();

struct HelpRelated {
  std::vector<std::string> names;
  std::string note;
};
// What help has on a word in the singular or plural: the topic of that name, and the names of its
// rows.
HelpRelated RelatedHelp(const std::string& word);

// "losses", "loss" -> "loss"; "summaries" -> "summary".
std::string Singular(const std::string& word);

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_SYNONYMS_H_
