#include "cli/json.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace tpurun {
namespace {

TEST(JsonNumberTest, FloatsHaveTheFewestDigitsOfTheirOwnType) {
  EXPECT_EQ(JsonText(JsonNumber(0.1f)), "0.1");
  EXPECT_EQ(JsonText(JsonNumber(0.1)), "0.1");
  EXPECT_EQ(JsonText(JsonNumber(static_cast<double>(0.1f))), "0.10000000149011612");
  EXPECT_EQ(JsonText(JsonNumber(16777216.0f)), "16777216");
  EXPECT_EQ(JsonText(JsonNumber(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(JsonText(JsonNumber(-0.0f)), "-0");
  EXPECT_EQ(JsonText(JsonNumber(1e-45f)), "1e-45");
  EXPECT_EQ(JsonText(JsonNumber(std::numeric_limits<float>::max())), "3.4028235e+38");
}

TEST(JsonNumberTest, NotNumbersAreStrings) {
  EXPECT_EQ(JsonText(JsonNumber(std::nanf(""))), "\"NaN\"");
  EXPECT_EQ(JsonText(JsonNumber(std::numeric_limits<double>::infinity())), "\"Infinity\"");
  EXPECT_EQ(JsonText(JsonNumber(-std::numeric_limits<float>::infinity())), "\"-Infinity\"");
}

TEST(JsonNumberTest, EveryTextReadsBackToTheSameValue) {
  uint32_t bits = 12345;
  for (int i = 0; i < 100000; ++i) {
    bits = bits * 1664525 + 1013904223;
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const std::string text = JsonText(JsonNumber(value));
    ASSERT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
  }
}

TEST(JsonTextTest, IsCompactWithKeysInTheirOrder) {
  Json result;
  result["global_step"] = int64_t{9007199254740993};
  result["loss"] = JsonNumber(0.5f);
  result["checkpoint"] = nullptr;
  result["class_ids"] = Json::array({2});
  result["empty"] = Json::object();
  result["none"] = Json::array();
  result["skipped"] = true;
  result["a \"key\""] = "line\n";
  EXPECT_EQ(JsonText(result),
            "{\"global_step\":9007199254740993,\"loss\":0.5,\"checkpoint\":null,\"class_ids\":[2],"
            "\"empty\":{},\"none\":[],\"skipped\":true,\"a \\\"key\\\"\":\"line\\n\"}");
}

TEST(JsonTextTest, HasNoControlCharacters) {
  const Json value = {{"a\x1b", "zz\n\x1b[2J"}, {"b", "\x7f \xC2\x9B \xE2\x80\xAE"}};
  const std::string text = JsonText(value);
  EXPECT_EQ(text, R"({"a\u001b":"zz\n\u001b[2J","b":"\u007f \u009b \u202e"})");
  EXPECT_EQ(Json::parse(text), value);
}

TEST(JsonTextTest, AStringThatIsNotUtf8IsBase64) {
  EXPECT_EQ(JsonText({{"path", "\xFF/x"}}), R"({"path":{"b64":"/y94"}})");
}

TEST(JsonBytesTest, Utf8IsTextAndOtherBytesAreBase64) {
  EXPECT_EQ(JsonText(JsonBytes("caf\xC3\xA9 \xF0\x9F\x8C\xB8")),
            "\"caf\xC3\xA9 \xF0\x9F\x8C\xB8\"");
  EXPECT_EQ(JsonText(JsonBytes("\xFF\x00\x01")), "{\"b64\":\"/w==\"}");
  EXPECT_EQ(JsonText(JsonBytes({"\xFF\x00\x01", 3})), "{\"b64\":\"/wAB\"}");
}

TEST(JsonNestedTest, NestsByShape) {
  const auto index = [](int64_t i) { return Json(i); };
  EXPECT_EQ(JsonText(JsonNested({}, index)), "0");
  EXPECT_EQ(JsonText(JsonNested(std::vector<int64_t>{1}, index)), "[0]");
  EXPECT_EQ(JsonText(JsonNested(std::vector<int64_t>{2, 3}, index)), "[[0,1,2],[3,4,5]]");
  EXPECT_EQ(JsonText(JsonNested(std::vector<int64_t>{2, 0}, index)), "[[],[]]");
}

// Runs WriteOutput in a child whose standard output is `fd`; 0, or 1 for a closed pipe, or 2.
int WriteTo(int fd) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_IGN);
    dup2(fd, STDOUT_FILENO);
    const absl::Status status = WriteOutput("text\n");
    _exit(status.ok() ? 0 : IsClosedPipe(status) ? 1 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(WriteOutputTest, AClosedPipeIsRecognized) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(WriteTo(ends[1]), 0);
  close(ends[0]);
  EXPECT_EQ(WriteTo(ends[1]), 1);
  close(ends[1]);
}

TEST(WriteOutputTest, AFullDiskIsAnError) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  EXPECT_EQ(WriteTo(full), 2);
  close(full);
}

}  // namespace
}  // namespace tpurun
