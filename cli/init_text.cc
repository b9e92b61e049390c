#include "cli/init_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/init_lines.h"

namespace tpurun {

std::map<std::string, std::string> InitFiles(const InitPlan& plan, const InitSources& sources) {
  std::map<std::string, std::string> texts = {{kInitRunFile, RunText(plan, sources)},
                                              {kInitModelFile, ModelText(plan)}};
  for (const PlannedFeature& feature : plan.features) {
    if (feature.vocabulary_file.empty()) continue;
    texts[feature.vocabulary_file] = absl::StrCat(absl::StrJoin(feature.vocabulary, "\n"), "\n");
  }
  return texts;
}

}  // namespace tpurun
