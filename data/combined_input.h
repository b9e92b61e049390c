// Inputs that are made of other inputs: the sources zip and sample_from_datasets.
#ifndef TPURUN_DATA_COMBINED_INPUT_H_
#define TPURUN_DATA_COMBINED_INPUT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/elements.h"
#include "data/table.h"
#include "data/transforms/transform_list.h"
#include "proto/config_errors.h"
#include "proto/input.pb.h"

namespace tpurun {

// The columns of the elements that the source makes of the elements of its inputs, which have the
// columns `inputs`. Adds mistakes to `errors` by paths below the source's own message. Then returns
// nullopt.
std::optional<Schema> CombineSchemas(const proto::Source& source, const std::vector<Schema>& inputs,
                                     ConfigErrors& errors);

// How many elements a pipeline has.
struct Extent {
  bool endless = false;
  ElementCount count;  // of one pass; if it is endless, not of interest
};

// That of the source's elements, from those of its inputs.
Extent CombineExtents(const proto::Source& source, const std::vector<Extent>& inputs);

// Warns if the inputs of a zip look like no pairs: if one, of known length, ends before another, or
// if image files side by side have other names. Relative files are in `directory`.
void WarnOfUnpairedInputs(const proto::Source& source, const std::vector<Extent>& inputs,
                          const std::string& directory,
                          const std::function<void(const std::string&)>& warn);

// The source's elements. `seed`: for random draws.
std::unique_ptr<Records> CombineElements(const proto::Source& source, std::vector<Elements> inputs,
                                         uint64_t seed);

}  // namespace tpurun

#endif  // TPURUN_DATA_COMBINED_INPUT_H_
