#include "runtime/tpu/op_spelling.h"

#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"

namespace tpurun {
namespace {

constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"tf.linalg.inv", "matrix_inverse"},
    {"tf.linalg.det", "matrix_determinant"},
    {"tf.linalg.solve", "matrix_solve"},
    {"tf.linalg.lstsq", "matrix_solve_ls"}};
// What the names of a module begin with in TensorFlow 1.
constexpr std::pair<std::string_view, std::string_view> kModules[] = {
    {"tf.strings.", "string"}, {"tf.sparse.", "sparse"}, {"tf.ragged.", "ragged"}};

}  // namespace

std::string OpSpelling(std::string_view name) {
  for (const auto& [function, renamed] : kRenamed) {
    if (name == function) name = renamed;
  }
  std::string spelling;
  for (const auto& [module, prefix] : kModules) {
    if (name.starts_with(module)) spelling = prefix;
  }
  name.remove_prefix(name.rfind('.') + 1);  // npos + 1 is 0
  for (const char c : name) {
    if (c != '_') spelling += absl::ascii_tolower(c);
  }
  const size_t size = spelling.size();
  const bool versioned =
      size > 2 && spelling[size - 2] == 'v' && absl::ascii_isdigit(spelling[size - 1]);
  return versioned ? spelling.substr(0, size - 2) : spelling;
}

}  // namespace tpurun
