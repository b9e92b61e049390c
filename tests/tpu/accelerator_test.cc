#include "runtime/tpu/accelerator.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace tpurun {
namespace {

TEST(Accelerator, HasChipsAndHosts) {
  const auto slice = ParseAcceleratorType("v3-32");
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->chips(), 16);
  EXPECT_EQ(slice->hosts(), 4);
  EXPECT_EQ(slice->rows(), 4);
  EXPECT_EQ(slice->columns(), 4);
  EXPECT_EQ(slice->name(), "v3-32");
  EXPECT_FALSE(slice->torus());
  EXPECT_TRUE(ParseAcceleratorType("v2-512")->torus());
  EXPECT_EQ(ParseAcceleratorType("v2-128")->rows() * ParseAcceleratorType("v2-128")->columns(), 64);
}

// A chip of v4 is one device.
TEST(Accelerator, HasDevices) {
  EXPECT_EQ(ParseAcceleratorType("v3-32")->devices(), 32);
  EXPECT_EQ(ParseAcceleratorType("v4-16")->devices(), 8);
  EXPECT_EQ(ParseAcceleratorType("v4-16")->devices_of_host(), 4);
}

// The printed peaks of a board: 180 TFLOP/s of v2-8, 492 of v3-8.
TEST(Accelerator, HasThePeaksOfBoards) {
  EXPECT_NEAR(8 * ParseAcceleratorType("v2-8")->generation->matrix_peak(), 183.5e12, 0.1e12);
  EXPECT_NEAR(8 * ParseAcceleratorType("v3-8")->generation->matrix_peak(), 492.8e12, 0.1e12);
}

TEST(Accelerator, NamesTheLegalTypes) {
  for (const char* type : {"", "v2", "v2-", "v2-7", "v2-16", "v2-64", "v2-1024", "v5-8", "v3-8x",
                           "-8", "v3-99999999999999999999", "v2-08 "}) {
    const auto slice = ParseAcceleratorType(type);
    ASSERT_FALSE(slice.ok()) << type;
    EXPECT_TRUE(absl::StrContains(slice.status().message(), "v2-8, v2-32, v2-128")) << type;
    EXPECT_TRUE(absl::StrContains(slice.status().message(), "v3-2048, v4-8, v4-16")) << type;
  }
}

}  // namespace
}  // namespace tpurun
