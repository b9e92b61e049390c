#include "runtime/ir/machine.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tpurun {
namespace {

TEST(Machine, TextParsesBack) {
  std::set<std::string> texts;
  for (const Machine& level : {Machine{}, Machine{true}, Machine{true, true},
                               Machine{true, true, true}, Machine{true, true, true, true}}) {
    for (const KernelChoice kernels : {KernelChoice::kFastest, KernelChoice::kReference,
                                       KernelChoice::kLibrary, KernelChoice::kOwn}) {
      Machine machine = level;
      machine.kernels = kernels;
      const std::string text = machine.ToString();
      EXPECT_TRUE(texts.insert(text).second) << text;
      const std::optional<Machine> parsed = Machine::Parse(text);
      ASSERT_TRUE(parsed) << text;
      EXPECT_EQ(parsed->ToString(), text);
      EXPECT_EQ(parsed->avx2, machine.avx2);
      EXPECT_EQ(parsed->avx512, machine.avx512);
      EXPECT_EQ(parsed->avx512_bf16, machine.avx512_bf16);
      EXPECT_EQ(parsed->amx_bf16, machine.amx_bf16);
      EXPECT_EQ(parsed->kernels, kernels);
    }
  }
  EXPECT_EQ(Machine{}.ToString(), "x86_64");
  EXPECT_EQ((Machine{.avx2 = true, .kernels = KernelChoice::kOwn}).ToString(),
            "x86_64+avx2 kernels=own");
}

TEST(Machine, OtherTextIsNone) {
  for (const char* text : {"", "x86_64+", "x86_64+avx", "x86_64 kernels=fastest",
                           "x86_64 kernels=", "x86_64+avx2 ", "aarch64"}) {
    EXPECT_FALSE(Machine::Parse(text)) << text;
  }
}

TEST(KernelChoice, NamesParseBack) {
  for (const char* name : {"fastest", "reference", "library", "own"}) {
    const std::optional<KernelChoice> choice = KernelChoiceOf(name);
    ASSERT_TRUE(choice) << name;
    EXPECT_EQ(Name(*choice), name);
  }
  EXPECT_FALSE(KernelChoiceOf(""));
  EXPECT_FALSE(KernelChoiceOf("Own"));
}

}  // namespace
}  // namespace tpurun
