// Names of files and folders: which are paths of this machine.
#include "runtime/io/local_path.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace tpurun {
namespace {

TEST(LocalPathTest, WithoutASchemeANameIsThePath) {
  for (const char* name : {"", "-", "a", "/tmp/a", "../a:b", "s3:", "a//b", ":// a", "1s://a",
                           "a_b://c", "dir/x://y", "file:/tmp/x"}) {
    EXPECT_EQ(LocalPath(name).value_or("refused"), name);
    EXPECT_FALSE(HasScheme(name)) << name;
  }
}

TEST(LocalPathTest, OfAFileItIsThePathBehindTheScheme) {
  EXPECT_EQ(LocalPath("file:///tmp/x").value_or("refused"), "/tmp/x");
  EXPECT_EQ(LocalPath("FILE:///tmp/x y%20z").value_or("refused"), "/tmp/x y%20z");
  EXPECT_EQ(LocalPath("file://localhost/tmp/x").value_or("refused"), "/tmp/x");
  for (const char* name : {"file://tmp/x", "file://", "file://localhost", "file://localhosts/x"}) {
    EXPECT_EQ(LocalPath(name).status().message(),
              "want an absolute path, file:///tmp/x, or one without file://")
        << name;
    EXPECT_TRUE(HasScheme(name)) << name;
  }
}

TEST(LocalPathTest, OtherSchemesAreRefused) {
  EXPECT_EQ(LocalPath("gs://bucket/x").status().message(),
            "gs:// is not supported yet, copy to a local path");
  for (const char* name : {"s3://bucket/x", "S3://bucket/x"}) {
    EXPECT_EQ(LocalPath(name).status(),
              absl::InvalidArgumentError("s3:// is not supported, copy to a local path"));
  }
  for (const char* scheme : {"http", "https", "hdfs", "git+ssh", "x-y.z"}) {
    EXPECT_FALSE(LocalPath(std::string(scheme) + "://host/x").ok()) << scheme;
  }
}

}  // namespace
}  // namespace tpurun
