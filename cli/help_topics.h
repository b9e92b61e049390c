// The `help` pages besides those of the verbs: the configuration, from the .proto files, and a few
// further pages.
#ifndef TPURUN_CLI_HELP_TOPICS_H_
#define TPURUN_CLI_HELP_TOPICS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/manual/manual.h"
#include "google/protobuf/descriptor.h"

namespace tpurun {

struct HelpTopic {
  std::string name;
  std::string doc;  // one line
  // The message whose choices the page lists. nullptr if `page` makes the page.
  const google::protobuf::Descriptor* message = nullptr;
  std::string (*page)() = nullptr;
  // True if the page lists things that have pages of their own.
  bool is_list = true;
};

std::span<const HelpTopic> HelpTopics();

// A page of the manual (cli/manual), formatted for a terminal. nullopt if there is no page of that
// name.
std::string ManualText(const ManualPage& page);
std::optional<std::string> ManualText(const std::string& name);

// Returns the page of a manual page, a topic, a kind (of a layer, source and so on), a message, an
// enum or one of its values, a field, an op or a path. nullopt if `name` is none of these. If
// several things have the name, returns all their pages.
std::optional<std::string> HelpPage(const std::string& name);

// Every name that has a page, without paths.
std::vector<std::string> HelpNames();

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_TOPICS_H_
