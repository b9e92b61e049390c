// What a source file defines at the scope of a namespace with external linkage, and which names two
// files give to different things: in one program that is undefined behaviour, which no compiler
// sees and which the linker sees for functions without `inline` only.
#ifndef TPURUN_TESTS_STRUCTURE_DEFINITIONS_H_
#define TPURUN_TESTS_STRUCTURE_DEFINITIONS_H_

#include <string>
#include <vector>

namespace tpurun {

struct Definition {
  std::string name;  // "tpurun::Shape", "tpurun::Quote(std::string_view)", "tpurun::kDevice"
  std::string file;
  int line = 0;

  bool operator==(const Definition&) const = default;
};

// The classes, structs, unions and enums with a body, functions with a body that are not static,
// and inline variables, of every namespace that has a name. Not what stands in another class or in
// an unnamed namespace, members defined outside their class and template specializations.
std::vector<Definition> Definitions(const std::string& file, const std::string& text);

// One message "NAME: FILE:LINE and FILE:LINE" for each definition of `others` whose name one of
// `sources` has, in another file.
std::vector<std::string> Duplicates(const std::vector<Definition>& sources,
                                    const std::vector<Definition>& others);

}  // namespace tpurun

#endif  // TPURUN_TESTS_STRUCTURE_DEFINITIONS_H_
