// The mistakes of a configuration. Whoever reads a part of it adds what is wrong, by the path of
// the field; all of them are told at once, in the order of the files.
#ifndef TPURUN_PROTO_CONFIG_ERRORS_H_
#define TPURUN_PROTO_CONFIG_ERRORS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/source_locations.h"

namespace tpurun {

// An element of the configuration as messages name it: `layer 3 "logits"`, found at model.layer[3].
struct ConfigPlace {
  std::string subject;
  std::string path;
};
// A field of the element; messages keep the element's subject.
ConfigPlace FieldPlace(const ConfigPlace& place, const std::string& field);

struct ConfigError {
  std::string path;     // of the field: "train.input.transform[1].shuffle.buffer_size"
  std::string message;  // what, got, want
  std::optional<SourceLocation> location = std::nullopt;  // when it is not that of the path
  bool refused = false;  // what the TPU does not have: an op or a type

  bool operator==(const ConfigError&) const = default;
};

class ConfigErrors {
 public:
  // Paths go from the RunConfig on, or from a message that does not know where it stands.
  void Add(const std::string& path, const std::string& message);
  // "SUBJECT: MESSAGE"; `field` is below the place's path, empty for the place itself.
  void Add(const ConfigPlace& place, const std::string& field, const std::string& message);
  // The mistakes and warnings of a message that stands at the place.
  void Add(const ConfigPlace& place, const ConfigErrors& part);
  // Of what has no path: a text that is not read, a flag.
  void AddAt(const SourceLocation& location, const std::string& message);
  void Add(ConfigError error);
  // The same as Add, of an op or a type that the TPU does not have.
  void RejectOnTpu(const ConfigPlace& place, const std::string& field, const std::string& message);

  // What is no mistake, but may be meant otherwise; told once.
  void Warn(const ConfigPlace& place, const std::string& field, const std::string& message);

  // What follows from a mistake that is reported is none: Add drops from now on what is said of
  // exactly `path`, with `below` also of all that is under it.
  void Ignore(const std::string& path, bool below);
  bool IsIgnored(const std::string& path) const;

  bool empty() const { return errors_.empty(); }
  // Whether there is one of exactly that path.
  bool Has(const std::string& path) const;
  // What a status of them has: Unimplemented where all are refused, else InvalidArgument.
  absl::StatusCode code() const;
  // More would help nobody: who can stop looking, may.
  bool full() const { return errors_.size() == kMost; }
  // How often one was added, the same again included.
  int reported() const { return reported_; }
  // In the order of Add; each mistake once, and none after it is full.
  const std::vector<ConfigError>& all() const { return errors_; }

  // Ready to be shown, each with its place before it: "run.textproto:5:3: MESSAGE". In the order of
  // the files, those of the command line last. ErrorList makes a status of them, with code().
  std::vector<std::string> Lines(const SourceLocations& locations) const;
  std::vector<std::string> Warnings(const SourceLocations& locations) const;

 private:
  static constexpr size_t kMost = 100;

  void WarnOne(ConfigError warning);

  std::vector<ConfigError> errors_;
  std::vector<ConfigError> warnings_;
  std::set<std::string> ignored_;
  std::set<std::string> ignored_below_;
  int reported_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_PROTO_CONFIG_ERRORS_H_
