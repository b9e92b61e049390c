// What `help` shows besides the verbs: the configuration, from the .proto files, and a few pages.
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
  // The message whose choices the page lists; null for a page of its own.
  const google::protobuf::Descriptor* message = nullptr;
  std::string (*page)() = nullptr;
  // Whether the page lists what has pages of its own.
  bool is_list = true;
};

std::span<const HelpTopic> HelpTopics();

// A page of the manual (cli/manual) as a terminal shows it; nullopt for no name of one.
std::string ManualText(const ManualPage& page);
std::optional<std::string> ManualText(const std::string& name);

// The page of the manual, of a topic, a kind of layer, source and so on, a message, an enum or one
// of its values, a field, an op or a path; nullopt for no name of these. A name of several things
// shows all of them.
std::optional<std::string> HelpPage(const std::string& name);

// Every name that has a page, paths left out.
std::vector<std::string> HelpNames();

}  // namespace tpurun

#endif  // TPURUN_CLI_HELP_TOPICS_H_
