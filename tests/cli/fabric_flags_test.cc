#include "cli/fabric_flags.h"

#include <gtest/gtest.h>

namespace tpurun {
namespace {

TEST(FabricFlags, LatenciesHaveUnits) {
  EXPECT_DOUBLE_EQ(*ParseLatency("50us"), 50e-6);
  EXPECT_DOUBLE_EQ(*ParseLatency("1.5ms"), 1.5e-3);
  EXPECT_DOUBLE_EQ(*ParseLatency("200ns"), 200e-9);
  EXPECT_DOUBLE_EQ(*ParseLatency("10s"), 10);
  EXPECT_EQ(*ParseLatency("0"), 0);
  for (const char* text : {"", "5", "us", "-1us", "nanus", "1 us", "1min", "11s", "1us2", "infs"})
    EXPECT_FALSE(ParseLatency(text).ok()) << text;
}

TEST(FabricFlags, BandwidthsHaveUnits) {
  EXPECT_DOUBLE_EQ(*ParseBandwidth("10Gbit"), 1.25e9);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("10Gbps"), 1.25e9);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("100Mbit/s"), 12.5e6);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("1.25GB"), 1.25e9);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("500kB/s"), 5e5);
  for (const char* text :
       {"", "10", "Gbit", "0Gbit", "-1GB", "10gbit", "10 Gbit", "10GiB", "1Gbit/h"})
    EXPECT_FALSE(ParseBandwidth(text).ok()) << text;
}

}  // namespace
}  // namespace tpurun
