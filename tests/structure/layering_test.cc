// Every #include under the source folders obeys tests/layering.txt.
#include "tests/structure/layering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/structure/source_tree.h"

namespace tpurun {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Layering ReadTable() {
  auto layering = ParseLayering(ReadFile(CheckoutRoot() / "tests/layering.txt"));
  EXPECT_TRUE(layering.ok()) << layering.status();
  return layering.ok() ? *layering : Layering{};
}

std::vector<std::string> Check(const std::string& file, const std::string& text) {
  return LayeringViolations(ReadTable(), file, text);
}

TEST(LayeringTest, EverySourceFileObeysTheTable) {
  const auto root = CheckoutRoot();
  const Layering layering = ReadTable();
  const auto files =
      SourceFiles(root, {"cli", "data", "models", "proto", "runtime"}, {".h", ".cc", ".inc"});
  EXPECT_FALSE(files.empty()) << "no source under " << root;
  for (const std::string& file : files) {
    for (const std::string& violation : LayeringViolations(layering, file, ReadFile(root / file))) {
      ADD_FAILURE() << violation;
    }
  }
}

TEST(LayeringTest, EveryProtoImportStaysInProto) {
  const auto root = CheckoutRoot();
  for (const std::string& file : SourceFiles(root, {"proto"}, {".proto"})) {
    std::istringstream lines(ReadFile(root / file));
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("import ", 0) == 0) {
        EXPECT_THAT(line,
                    AnyOf(HasSubstr("\"proto/"), HasSubstr("\"google/protobuf/descriptor.proto\"")))
            << file;
      }
    }
  }
}

TEST(LayeringTest, ForbiddenFolderIsNamedWithFileAndLine) {
  const auto violations =
      Check("runtime/ir/graph.h", "#ifndef A\n#define A\n#include \"runtime/ops/ops.h\"\n#endif\n");
  ASSERT_EQ(violations.size(), 1);
  EXPECT_THAT(violations[0], HasSubstr("runtime/ir/graph.h:3: includes runtime/ops/ops.h: "));
  EXPECT_THAT(violations[0], HasSubstr("the folder runtime/ops is not allowed here"));
  EXPECT_THAT(violations[0], HasSubstr("runtime/ir  "));
}

TEST(LayeringTest, ModelsAndDataDoNotKnowEachOther) {
  EXPECT_EQ(Check("models/layers/dense.cc", "#include \"data/input_fn.h\"\n").size(), 1);
  EXPECT_EQ(Check("data/input_fn.cc", "#include \"models/model_builder.h\"\n").size(), 1);
}

TEST(LayeringTest, RuntimeKnowsNeitherModelsNorCli) {
  EXPECT_EQ(Check("runtime/estimator/estimator.cc", "#include \"models/model_builder.h\"\n").size(),
            1);
  EXPECT_EQ(Check("runtime/estimator/estimator.cc", "#  include <cli/flags.h>\n").size(), 1);
  EXPECT_THAT(Check("runtime/estimator/estimator.cc",
                    "#include \"runtime/device/device.h\"\n#include \"proto/event.pb.h\"\n"),
              IsEmpty());
}

TEST(LayeringTest, ProtosStopAtTheEdges) {
  for (const char* folder : {"ir", "program", "compiler", "device", "ops", "autodiff"}) {
    const std::string file = std::string("runtime/") + folder + "/x.cc";
    EXPECT_EQ(Check(file, "#include \"proto/run_config.pb.h\"\n").size(), 1) << file;
    EXPECT_EQ(Check(file, "#include <google/protobuf/text_format.h>\n").size(), 1) << file;
  }
}

TEST(LayeringTest, GflagsOnlyUnderCli) {
  EXPECT_EQ(Check("runtime/base/flags.cc", "#include <gflags/gflags.h>\n").size(), 1);
  EXPECT_THAT(Check("cli/main.cc", "#include <gflags/gflags.h>\n"), IsEmpty());
}

TEST(LayeringTest, LibrariesOnlyWhereTheTableHasThem) {
  constexpr char kOneDnn[] = "#include <oneapi/dnnl/dnnl.hpp>\n";
  EXPECT_THAT(Check("runtime/ops/onednn/plan.cc", kOneDnn), IsEmpty());
  EXPECT_EQ(Check("runtime/ops/matmul.cc", kOneDnn).size(), 1);
  EXPECT_EQ(Check("runtime/device/device.cc", kOneDnn).size(), 1);
  constexpr char kEigen[] = "#include <Eigen/Core>\n";
  EXPECT_THAT(Check("runtime/checkpoint/initial_values.cc", kEigen), IsEmpty());
  EXPECT_EQ(Check("runtime/checkpoint/initial_values.h", kEigen).size(), 1);
  EXPECT_EQ(Check("runtime/ops/matmul.cc", kEigen).size(), 1);
}

TEST(LayeringTest, UnknownLibraryAndUnknownFolderAreCaught) {
  EXPECT_EQ(Check("runtime/base/text.cc", "#include <boost/any.hpp>\n").size(), 1);
  EXPECT_EQ(Check("runtime/base/text.cc", "#include \"text.h\"\n").size(), 1);
  EXPECT_THAT(Check("extra/new.cc", ""), ElementsAre(HasSubstr("no rule of the table")));
}

TEST(LayeringTest, AbseilAndSystemHeadersAreFree) {
  EXPECT_THAT(Check("runtime/ir/graph.cc",
                    "#include <vector>\n#include <sys/mman.h>\n#include \"absl/types/span.h\"\n"),
              IsEmpty());
}

TEST(LayeringTest, UnreadableTableIsAnError) {
  EXPECT_FALSE(ParseLayering("runtime/ir : runtime/base\n").ok());
  EXPECT_FALSE(ParseLayering("runtime/ir : - : boost\n").ok());
}

}  // namespace
}  // namespace tpurun
