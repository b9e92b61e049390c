// What reads bytes from outside, each as one function of those bytes: libFuzzer calls it
// (tools/fuzz), and seeds_test with every seed.
#ifndef TPURUN_TESTS_FUZZ_TARGETS_H_
#define TPURUN_TESTS_FUZZ_TARGETS_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tpurun {

struct FuzzTarget {
  const char* name;  // its seeds are in testdata/fuzz/NAME
  // Ends in OK or in what the user would see. An input must never crash it, nor cost it much time
  // or memory; what holds for every input is checked by CHECK.
  absl::Status (*run)(std::string_view bytes);
};

std::span<const FuzzTarget> FuzzTargets();
// Runs the target and checks that its error is one that a user's data may cause.
absl::Status RunTarget(const FuzzTarget& target, std::string_view bytes);

// ---- what the rows of the table point to, each in NAME.cc with the form of its input
absl::Status FuzzCheckpoint(std::string_view bytes);
absl::Status FuzzConfig(std::string_view bytes);
absl::Status FuzzCsv(std::string_view bytes);
absl::Status FuzzEvents(std::string_view bytes);
absl::Status FuzzExample(std::string_view bytes);
absl::Status FuzzImage(std::string_view bytes);
absl::Status FuzzInit(std::string_view bytes);
absl::Status FuzzInterleave(std::string_view bytes);
absl::Status FuzzJson(std::string_view bytes);
absl::Status FuzzPosition(std::string_view bytes);
absl::Status FuzzSavedModel(std::string_view bytes);
absl::Status FuzzTar(std::string_view bytes);
absl::Status FuzzTfrecord(std::string_view bytes);

// ---- for the targets

// A file in a folder of this process in memory, or where temporary files are. `name` is a file's
// name.
std::string ScratchPath(const std::string& name);
// Not durable, and without a temporary name.
void WriteScratch(const std::string& name, std::string_view bytes);
// Takes a byte from the front that chooses a variant; 0 when there is none.
uint8_t TakeByte(std::string_view* bytes);

}  // namespace tpurun

#endif  // TPURUN_TESTS_FUZZ_TARGETS_H_
