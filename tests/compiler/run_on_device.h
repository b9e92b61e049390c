// A compiled program on the device, in tests.
#ifndef TPURUN_TESTS_COMPILER_RUN_ON_DEVICE_H_
#define TPURUN_TESTS_COMPILER_RUN_ON_DEVICE_H_

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/device/device.h"
#include "runtime/ir/evaluate.h"

namespace tpurun {

struct AfterSteps {
  std::vector<std::vector<Literal>> outputs;              // of the last step: [slot][replica]
  std::map<std::string, std::vector<Literal>> variables;  // the copies of each
};

// Runs a program on the same batch for so many steps; an output of every step is among its outputs.
// `args` has the batch of all replicas of the run; with a fabric the program is of some of them.
inline AfterSteps RunOnDevice(Device* device, const CoreProgram& program, const EvaluateArgs& args,
                              int64_t steps, Fabric* fabric = nullptr) {
  AfterSteps after;
  std::vector<std::vector<std::byte>> store;
  std::vector<void*> variables;
  for (const Variable& variable : program.variables) {
    const int64_t bytes = Aligned(variable.shape.bytes());
    store.emplace_back(bytes * program.num_replicas);
    for (int core = 0; core < program.num_replicas; ++core) {
      std::memcpy(store.back().data() + core * bytes, args.variables.at(variable.name)[0].data(),
                  variable.shape.bytes());
    }
    variables.push_back(store.back().data());
  }
  const SlotLayout in = LayoutOf(program.infeed, program.num_replicas);
  const SlotLayout out = LayoutOf(program.outfeed, program.outfeed_replicas());
  EntryRing infeed(in.bytes, steps, 1), outfeed(OutfeedEntryBytes(program), steps, 1);
  for (int64_t step = 0; step < steps; ++step) {
    std::byte* entry = *infeed.Reserve();
    for (size_t slot = 0; slot < args.infeed.size(); ++slot) {
      for (int replica = 0; replica < program.num_replicas; ++replica) {
        std::memcpy(entry + in.offsets[slot] + replica * in.replica_bytes[slot],
                    args.infeed[slot][program.first_replica + replica].data(),
                    in.replica_bytes[slot]);
      }
    }
    infeed.Commit();
  }
  auto loaded = device->Load(program, variables);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok()) return after;
  // A variable that is not finite ends a run, and the next goes on with it.
  for (int64_t done = 0; done < steps;) {
    const RunResult result = device->Run(**loaded, {.iterations = steps - done,
                                                    .first_step = done,
                                                    .fabric = fabric,
                                                    .infeed = &infeed,
                                                    .outfeed = &outfeed});
    EXPECT_TRUE(result.status.ok() || result.not_finite.has_value()) << result.status;
    if (result.steps == 0) return after;
    done += result.steps;
  }
  while (outfeed.consumed() + 1 < outfeed.committed()) outfeed.Pop();
  const std::byte* fed = *outfeed.Front() + kOutfeedHeaderBytes;
  for (size_t slot = 0; slot < program.outfeed.size(); ++slot) {
    after.outputs.emplace_back();
    for (int replica = 0; replica < program.outfeed_replicas(); ++replica) {
      Literal& literal = after.outputs.back().emplace_back(program.outfeed[slot].shape);
      std::memcpy(literal.data(), fed + out.offsets[slot] + replica * out.replica_bytes[slot],
                  out.replica_bytes[slot]);
    }
  }
  for (size_t i = 0; i < program.variables.size(); ++i) {
    const Variable& variable = program.variables[i];
    for (int core = 0; core < (variable.per_core ? program.num_replicas : 1); ++core) {
      Literal& literal = after.variables[variable.name].emplace_back(variable.shape);
      std::memcpy(literal.data(), store[i].data() + core * Aligned(variable.shape.bytes()),
                  variable.shape.bytes());
    }
  }
  return after;
}

}  // namespace tpurun

#endif  // TPURUN_TESTS_COMPILER_RUN_ON_DEVICE_H_
