// Collects every mistake of a ModelSpec that can be found at once, each with its place.
#ifndef TPURUN_MODELS_SPEC_ERRORS_H_
#define TPURUN_MODELS_SPEC_ERRORS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config_error.h"
#include "proto/source_locations.h"

namespace tpurun {

// An element of the spec as messages name it: `layer 3 "logits"`, found at model.layer[3].
struct SpecPlace {
  std::string subject;
  std::string path;
};

class SpecErrors {
 public:
  explicit SpecErrors(const SourceLocations& locations) : locations_(locations) {}

  // `SUBJECT: MESSAGE (FILE:LINE:COLUMN)`; `field` is below the place's path, empty for the place
  // itself. The same text is kept once. Nothing is kept when it is full.
  void Add(const SpecPlace& place, const std::string& field, const std::string& message);
  void Add(const SpecPlace& place, const ConfigErrors& errors);

  // What is no mistake, but may be meant otherwise; in the form of Add.
  void Warn(const SpecPlace& place, const std::string& field, const std::string& message);
  const std::vector<std::string>& warnings() const { return warnings_; }

  bool empty() const { return messages_.empty(); }
  // More would help nobody: who can stop looking, may.
  bool full() const { return messages_.size() == kMostMessages; }
  // How often Add was called, the same text again included.
  int reported() const { return reported_; }
  // The ErrorList of the messages, in order.
  absl::Status ToStatus() const;

 private:
  static constexpr size_t kMostMessages = 100;

  std::string TextOf(const SpecPlace& place, const std::string& field,
                     const std::string& message) const;

  const SourceLocations& locations_;
  int reported_ = 0;
  std::vector<std::string> messages_;
  std::vector<std::string> warnings_;
};

}  // namespace tpurun

#endif  // TPURUN_MODELS_SPEC_ERRORS_H_
