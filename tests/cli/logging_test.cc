#include "cli/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gflags/gflags.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"

namespace tpurun {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// What a child that logs in this format writes to standard error.
std::string LogOf(LogFormat format, const std::string& message, const char* level = "0") {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    gflags::SetCommandLineOption("minloglevel", "1");
    gflags::SetCommandLineOption("v", level);
    StartLogging("tpurun", format);
    LOG(INFO) << "below minloglevel";
    LOG(WARNING) << message;
    google::FlushLogFiles(google::INFO);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t bytes; (bytes = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(bytes));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(LoggingTest, TextGoesToStandardErrorOnOneLine) {
  EXPECT_EQ(LogOf(LogFormat::kText, "two\nlines \xFF \x1b[2J"),
            "WARNING: two\\nlines \\377 \\033[2J\n");
}

TEST(LoggingTest, DetailsComeWithThePlaceOfEachLine) {
  EXPECT_THAT(LogOf(LogFormat::kText, "two\nlines \xFF \x1b[2J", "1"),
              MatchesRegex(R"(W.*logging_test.cc:[0-9]+\] two\\nlines \\377 \\033\[2J)"
                           "\n"));
}

TEST(LoggingTest, JsonIsOneObjectALine) {
  const std::string text = LogOf(LogFormat::kJson, "two\nlines \xFF");
  ASSERT_EQ(text.find('\n'), text.size() - 1) << text;
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["severity"], "WARNING");
  EXPECT_EQ(object["file"], "logging_test.cc");
  EXPECT_EQ(object["message"], nlohmann::json({{"b64", "dHdvCmxpbmVzIP8="}}));
  EXPECT_GT(object["time"], 1.6e9);
  EXPECT_GT(object["line"], 0);
}

TEST(LoggingTest, JsonHasControlCharactersAsJsonHasThem) {
  const std::string message = "zz\n\x1b[2J\x7f\xC2\x9B";
  const std::string text = LogOf(LogFormat::kJson, message);
  EXPECT_THAT(text, HasSubstr(R"("message":"zz\n\u001b[2J\u007f\u009b")"));
  EXPECT_EQ(nlohmann::json::parse(text)["message"], message);
}

}  // namespace
}  // namespace tpurun
