// Conversions in a folder of their own.
#ifndef TPURUN_TESTS_DATA_CONVERT_CONVERT_FIXTURE_H_
#define TPURUN_TESTS_DATA_CONVERT_CONVERT_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "data/convert/convert.h"
#include "data/convert/example_files.h"
#include "gtest/gtest.h"
#include "proto/example.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/record_reader.h"
#include "runtime/io/zlib_stream.h"
#include "tests/io/temp_dir.h"

namespace tpurun {

class ConvertTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(dir_.Path(name), bytes).ok());
  }

  static std::string Gzip(const std::string& bytes) {
    std::string compressed;
    ZlibSink sink(std::make_unique<StringSink>(&compressed), Compression::kGzip, "test");
    EXPECT_TRUE(sink.Append(bytes).ok());
    EXPECT_TRUE(sink.Close().ok());
    return compressed;
  }

  absl::Status Run(const std::string& kind, ConvertArgs args, int shards,
                   Compression compression) const {
    ASSIGN_OR_RETURN(const ConvertKind* const found, FindConvertKind(kind));
    if (found->reads_files) {
      for (std::string& input : args.inputs) input = dir_.Path(input);
    }
    RETURN_IF_ERROR(found->check(args));
    ASSIGN_OR_RETURN(const auto files,
                     ExampleFiles::Create(dir_.Path("out"), shards, compression, args.inputs));
    RETURN_IF_ERROR(found->convert(
        args, [&files](const tensorflow::Example& example) { return files->Write(example); }));
    return files->Commit();
  }

  // The error, or "".
  std::string Convert(const std::string& kind, const ConvertArgs& args, int shards = 1,
                      Compression compression = Compression::kNone) const {
    const absl::Status status = Run(kind, args, shards, compression);
    if (status.ok()) return "";
    return absl::StrReplaceAll(status.ToString(), {{dir_.path() + "/", ""}});
  }

  std::vector<tensorflow::Example> Read(const std::string& name,
                                        Compression compression = Compression::kNone) const {
    std::vector<tensorflow::Example> examples;
    const auto reader = RecordReader::Open(dir_.Path(name), compression).value();
    std::string record;
    while (reader->Read(&record).value()) {
      EXPECT_TRUE(examples.emplace_back().ParseFromString(record));
    }
    return examples;
  }

  // The examples of a file as text.
  std::string Examples(const std::string& name,
                       Compression compression = Compression::kNone) const {
    std::string text;
    for (const tensorflow::Example& example : Read(name, compression)) {
      // Two maps print in any order: the features one by one.
      for (const char* name : {"image_raw", "label", "x"}) {
        const auto found = example.features().feature().find(name);
        if (found == example.features().feature().end()) continue;
        absl::StrAppend(&text, name, " { ", found->second.ShortDebugString(), " } ");
      }
      text += "\n";
    }
    return text;
  }

  static const std::string& Image(const tensorflow::Example& example) {
    return example.features().feature().at("image_raw").bytes_list().value(0);
  }
  static int64_t Label(const tensorflow::Example& example, const char* name = "label") {
    return example.features().feature().at(name).int64_list().value(0);
  }

  std::vector<std::string> Names() const { return ListDirectory(dir_.path()).value(); }

  const TempDir dir_;
};

}  // namespace tpurun

#endif  // TPURUN_TESTS_DATA_CONVERT_CONVERT_FIXTURE_H_
