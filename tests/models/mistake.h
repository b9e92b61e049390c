// Mistakes of a model spec, and what ParseModel says of them.
#ifndef TPURUN_TESTS_MODELS_MISTAKE_H_
#define TPURUN_TESTS_MODELS_MISTAKE_H_

#include <cctype>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/models/iris_spec.h"

namespace tpurun {

struct Mistake {
  const char* name;
  std::string model;
  std::string want;
};

// Of a test's parameter.
inline std::string NameOf(const Mistake& mistake) {
  std::string name;
  for (const char c : std::string(mistake.name)) name += isalnum(c) ? c : '_';
  return name;
}

// As messages list them.
template <typename Def>
std::string Kinds(const std::vector<Def>& list) {
  return absl::StrJoin(list, ", ",
                       [](std::string* text, const Def& def) { absl::StrAppend(text, def.name); });
}

// An image, and the layer under test.
inline std::string ImageWith(const std::string& shape, const std::string& layer) {
  return absl::StrCat("feature { name: \"x\" ", shape, " }\nlayer { name: \"y\" ", layer, " }");
}

}  // namespace tpurun

#endif  // TPURUN_TESTS_MODELS_MISTAKE_H_
