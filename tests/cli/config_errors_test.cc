// Every testdata/config_errors/CASE.textproto gives exactly the error in CASE.error beside it.
// Comments of the case may add to the call: "# flags: --set train.max_steps=5", and "# use:
// train,evaluate" for what the configuration must be complete for (train when absent).
//   bazel run //tests/cli:config_errors_test -- --update_goldens
// writes what the code says now; read every line of the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/command_line.h"
#include "cli/compose.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr char kFolder[] = "testdata/config_errors";

bool update_goldens = false;

std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".textproto") cases.push_back(entry.path().stem());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

absl::Status Unused(const CommandLine&) { return absl::OkStatus(); }

// What a running verb does with the case before it reads any data.
absl::Status LoadCase(const std::string& path) {
  std::vector<std::string> arguments = {"run", absl::StrCat("--config=", path)};
  RequiredParts required{.train = true};
  for (absl::string_view line : absl::StrSplit(ReadFile(path), '\n')) {
    if (absl::ConsumePrefix(&line, "# flags: ")) arguments.emplace_back(line);
    if (absl::ConsumePrefix(&line, "# use: ")) {
      required = {.train = absl::StrContains(line, "train"),
                  .evaluate = absl::StrContains(line, "evaluate"),
                  .predict = absl::StrContains(line, "predict"),
                  .all_evaluations = absl::StrContains(line, "train_and_evaluate"),
                  .alternating = absl::StrContains(line, "train_and_evaluate")};
    }
  }
  const std::vector<Verb> verbs = {{.name = "run", .takes_config = true, .run = Unused}};
  ASSIGN_OR_RETURN(const CommandLine command, ParseCommandLine(arguments, verbs));
  return Compose(command, required).status();
}

class ConfigErrorsTest : public testing::TestWithParam<std::string> {};

TEST_P(ConfigErrorsTest, GivesItsMessage) {
  const std::string path = absl::StrCat(kFolder, "/", GetParam(), ".textproto");
  const absl::Status status = LoadCase(path);
  ASSERT_FALSE(status.ok()) << path << " loads without an error";
  const std::string got =
      absl::StrCat("exit code ", ExitCode(status), "\n",
                   absl::string_view(status.message().data(), status.message().size()), "\n");
  const std::string golden = absl::StrCat(kFolder, "/", GetParam(), ".error");
  if (update_goldens) {
    const char* const checkout = std::getenv("BUILD_WORKSPACE_DIRECTORY");
    ASSERT_NE(checkout, nullptr) << "use bazel run";
    std::ofstream(std::filesystem::path(checkout) / golden) << got;
    return;
  }
  EXPECT_EQ(got, ReadFile(golden)) << "want is " << golden;
}

INSTANTIATE_TEST_SUITE_P(Files, ConfigErrorsTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tpurun

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tpurun::update_goldens = argc > 1 && std::string(argv[1]) == "--update_goldens";
  return RUN_ALL_TESTS();
}
