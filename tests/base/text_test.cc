#include "runtime/base/text.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/instruction_sets.h"
#include "runtime/base/random.h"

namespace tpurun {
namespace {

TEST(NearestName, FindsSlipsOfTheHandOnly) {
  const std::vector<std::string> known = {"train", "evaluate", "predict", "train_batch_size"};
  EXPECT_EQ(NearestName("trian", known), "train");
  EXPECT_EQ(NearestName("train-batch-sise", known), "train_batch_size");
  EXPECT_EQ(NearestName("export", known), "");
  EXPECT_EQ(DidYouMean("evalute", known), ", did you mean \"evaluate\"?");
  EXPECT_EQ(DidYouMean("xyz", known), " (known: train, evaluate, predict, train_batch_size)");
  const std::string many = DidYouMean("xyz", std::vector<std::string>(10000, "layer"));
  EXPECT_TRUE(many.ends_with(", layer and 9950 more)")) << many;
  EXPECT_LT(many.size(), 500u);
}

TEST(ShortestText, ReadsBackToTheSameValue) {
  EXPECT_EQ(ShortestText(0.1f), "0.1");
  EXPECT_EQ(ShortestText(static_cast<double>(0.1f)), "0.10000000149011612");
  EXPECT_EQ(ShortestText(std::numeric_limits<float>::infinity()), "inf");
  for (uint64_t i = 0; i < 1000; ++i) {
    const float value = std::bit_cast<float>(PhiloxElement(1, 0, 0, 0, i));
    if (value != value) continue;
    EXPECT_EQ(ParseFloat(ShortestText(value)), value);
  }
}

TEST(ParseNumbers, TakeAllOfTheTextOrNothing) {
  EXPECT_EQ(ParseInt64("-12"), -12);
  EXPECT_EQ(ParseInt64("+12"), 12);
  EXPECT_EQ(ParseFloat("1e3"), 1000.0f);
  for (const char* text : {"", "1x", " 1", "9223372036854775808", "--1"}) {
    EXPECT_FALSE(ParseInt64(text).has_value()) << text;
  }
}

TEST(ParseNumbers, AreZeroBelowTheSmallestAndNoneAboveTheLargest) {
  EXPECT_EQ(ParseFloat("1e-40"), 1e-40f);  // a denormal
  for (const char* text : {"1e-46", "1e-400", "+1e-99999999999999999999"}) {
    EXPECT_EQ(ParseFloat(text), 0.0f) << text;
    EXPECT_FALSE(OverflowsFloat(text)) << text;
  }
  ASSERT_TRUE(ParseFloat("-1e-46").has_value());
  EXPECT_TRUE(std::signbit(*ParseFloat("-1e-46")));
  EXPECT_EQ(ParseDouble("1e-400"), 0.0);
  for (const char* text : {"1e39", "-1e39", "1e99999999999999999999"}) {
    EXPECT_FALSE(ParseFloat(text).has_value()) << text;
    EXPECT_TRUE(OverflowsFloat(text)) << text;
  }
  EXPECT_EQ(ParseFloat("inf"), std::numeric_limits<float>::infinity());
  for (const char* text : {"inf", "3.4e38", "1e39x", "x", ""}) {
    EXPECT_FALSE(OverflowsFloat(text)) << text;
  }
  EXPECT_FALSE(ParseDouble("1e999").has_value());
}

TEST(Escape, LeavesPrintableTextAsItIs) {
  for (const char* text : {"", "image/class/label", "a \\ b \"c\" 'd'", "f\xC3\xBCr",
                           "\xE6\xA8\xA1\xE5\x9E\x8B", "\xF0\x9F\x8C\xB8", "\xC2\xA0"}) {
    EXPECT_TRUE(IsPrintable(text)) << text;
    EXPECT_EQ(Escape(text), text);
  }
}

TEST(Escape, PutsWhatIsNotPrintableOnOneLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"zz\n\x1b[2Jevil", "zz\\n\\033[2Jevil"},
      {std::string("\0\t\r\x7f", 4), "\\000\\t\\r\\177"},
      {"\xC2\x85 \xC2\x9B", "\\302\\205 \\302\\233"},                  // C1: NEL, CSI
      {"\xE2\x80\xA8\xE2\x80\xAE", "\\342\\200\\250\\342\\200\\256"},  // a line, right to left
      {"\x9B\xC3(", "\\233\\303("},
      {"\xED\xA0\x80", "\\355\\240\\200"}};
  for (const auto& [text, want] : cases) {
    EXPECT_FALSE(IsPrintable(text)) << want;
    EXPECT_EQ(Escape(text), want);
    EXPECT_EQ(Escape(want), want);
    EXPECT_EQ(Unquote(Quote(text)), text);
  }
  // Every byte alone.
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(Escape(text) == text, byte >= 0x20 && byte < 0x7f) << byte;
    EXPECT_EQ(Unquote(Quote(text)), text) << byte;
  }
}

TEST(MaskUnprintable, LeavesWhatIsPrintable) {
  std::string text = "f\xC3\xBCr\x1b[2J\xC2\x9B \xE2\x80\xAE\n\xC3";
  MaskUnprintable(text.data(), text.size());
  EXPECT_EQ(text, std::string("f\xC3\xBCr?[2J?? ").append(5, '?'));
}

TEST(IsUtf8, TakesWellFormedTextOnly) {
  EXPECT_TRUE(IsUtf8("\n\x7f f\xC3\xBCr \xF0\x9F\x8C\xB8 \xF4\x8F\xBF\xBF"));
  for (const char* malformed : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                                "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(malformed)) << Escape(malformed);
  }
}

TEST(Quote, EscapesAndBack) {
  const std::string text = "a \"b\" \\ 'f\xC3\xBCr' \n \x01";
  EXPECT_EQ(Quote(text), "\"a \\\"b\\\" \\\\ 'f\xC3\xBCr' \\n \\001\"");
  EXPECT_EQ(Unquote(Quote(text)), text);
  EXPECT_FALSE(Unquote("\"open").has_value());
}

// docs.cloud.google.com/tpu/docs/bfloat16: nearest even, no subnormals, NaN stays.
TEST(BFloat16, RoundsAsATpuDoes) {
  EXPECT_EQ(RoundToBFloat16(1.00390625f), 1.0f);       // half way, to even
  EXPECT_EQ(RoundToBFloat16(1.01171875f), 1.015625f);  // half way, to even
  EXPECT_EQ(RoundToBFloat16(1.00390637f), 1.0078125f);
  EXPECT_EQ(RoundToBFloat16(3.4e38f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(BFloat16Bits(-1e-39f), 0x8000);
  const float nan = RoundToBFloat16(std::bit_cast<float>(0x7f800001u));
  EXPECT_TRUE(nan != nan);
}

// Whichever loop the processor has: every upper half with the lower halves where rounding turns.
TEST(BFloat16, ArraysAreRoundedLikeSingleValues) {
  std::vector<float> values;
  for (uint32_t top = 0; top < 1u << 16; ++top) {
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      values.push_back(std::bit_cast<float>(top << 16 | low));
    }
  }
  values.resize(values.size() - 3);  // the end of a loop's last step
  std::vector<uint16_t> bits(values.size());
  RoundToBFloat16(values.data(), std::ssize(values), bits.data());
  std::vector<float> in_float(values.size());
  RoundInFloat(values.data(), std::ssize(values), in_float.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t want = BFloat16Bits(values[i]);
    ASSERT_EQ(bits[i], want) << std::bit_cast<uint32_t>(values[i]);
    ASSERT_EQ(std::bit_cast<uint32_t>(in_float[i]), uint32_t{want} << 16);
  }
}

// Random123's known answers for philox4x32-10 (kat_vectors): counter and key zero.
TEST(Philox, GivesRandom123sKnownAnswers) {
  const std::array<uint32_t, 4> zero = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(PhiloxBlock(0, 0, 0, 0, 0), zero);
  EXPECT_EQ(PhiloxElement(0, 0, 0, 0, 2), zero[2]);
}

// By the vectors of this processor, and by those of AVX2.
TEST(Philox, VectorsDrawTheSameBlocks) {
  constexpr uint64_t kSeed = (uint64_t{5} << 32) + 7, kFirst = (uint64_t{1} << 32) - 9;
  for (const uint64_t stride : {uint64_t{1}, uint64_t{48}}) {
    PhiloxBlocks blocks;
    DrawPhiloxBlocks(kSeed, 11, 13, 17, kFirst, stride, blocks);
    const PhiloxCounters counters = {
        .first = kFirst, .stride = stride, .a = 13, .b = 17, .key0 = PhiloxKey(kSeed), .key1 = 11};
    PhiloxBlocks of_avx2 = blocks;
    if (InstructionSets::OfThisProcessor().avx2) DrawPhiloxByAvx2(counters, of_avx2);
    for (int l = 0; l < kPhiloxLanes; ++l) {
      const std::array<uint32_t, 4> want = PhiloxBlock(kSeed, 11, 13, 17, kFirst + l * stride);
      for (int w = 0; w < 4; ++w) {
        EXPECT_EQ(blocks.words[w][l], want[w]) << l << ", " << w;
        EXPECT_EQ(of_avx2.words[w][l], want[w]) << l << ", " << w;
      }
    }
  }
}

TEST(Philox, NegativeSeedsDoNotMeetTheirNeighbours) {
  for (int64_t seed = -5; seed < 5; ++seed) {
    for (int64_t other = -5; other < seed; ++other) {
      EXPECT_NE(PhiloxElement(seed, 1, 0, 0, 0), PhiloxElement(other, 1, 0, 0, 0))
          << seed << " " << other;
    }
  }
}

TEST(StreamOf, IsFnv1a) {
  EXPECT_EQ(StreamOf(""), 2166136261u);
  EXPECT_EQ(StreamOf("a"), 0xe40c292cu);
}

}  // namespace
}  // namespace tpurun
