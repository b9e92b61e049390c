// Every collective of a fabric, compared with values that each process computes by itself from the
// ranks of all. All processes of the fabric call it at the same time.
#ifndef TPURUN_TESTS_FABRIC_COLLECTIVE_CHECKS_H_
#define TPURUN_TESTS_FABRIC_COLLECTIVE_CHECKS_H_

#include <string>
#include <vector>

#include "runtime/fabric/fabric.h"

namespace tpurun {

// What is wrong, one text each; empty if all is right. `sizes`: of random vectors to add, besides
// the fixed ones. `longest`: their elements.
std::vector<std::string> CheckCollectives(Fabric& fabric, int sizes, int longest);

}  // namespace tpurun

#endif  // TPURUN_TESTS_FABRIC_COLLECTIVE_CHECKS_H_
