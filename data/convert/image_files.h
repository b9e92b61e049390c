// What the conversions of image files share: the files, in folders or archives, and their list in a
// random order.
#ifndef TPURUN_DATA_CONVERT_IMAGE_FILES_H_
#define TPURUN_DATA_CONVERT_IMAGE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/convert/convert.h"
#include "data/convert/example_list.h"
#include "data/convert/tar.h"
#include "runtime/io/identity.h"

namespace tpurun {

// True for a hidden file or folder, and for what file managers put beside images (Thumbs.db,
// desktop.ini). `name` is without its folder.
bool IsHiddenFile(const std::string& name);
// The files below a folder, in the order of their names, without hidden ones.
absl::StatusOr<std::vector<std::string>> ImageFilesBelow(const std::string& folder);

struct ImageFile {
  std::string name;        // the path, or the name in an archive
  int archive = -1;        // index in ImageFiles::archives; -1: a file of its own
  FileRange range = {};    // of the archive
  std::string class_name;  // a folder's name, or a synset
  // convert images: the path below the input folder, or the name in the table.
  std::string name_in_input = {};
};

struct ImageFiles {
  std::vector<std::string> archives;  // paths
  std::vector<ImageFile> files;
  // Of everything that was added: paths, sizes, times and classes.
  ListIdentity identity;

  void AddFile(const std::string& path, const std::string& class_name);
  // Adds the files of ImageFilesBelow.
  absl::Status AddFilesBelow(const std::string& folder, const std::string& class_name);
  // Returns the index of the archive, whose files the caller adds.
  int AddArchive(const std::string& path);
  // The name of a file in messages.
  std::string Title(const ImageFile& file) const;
  absl::StatusOr<std::string> Read(const ImageFile& file) const;
};

// InvalidArgument if the path is "-".
absl::Status CheckNoStandardInput(const char* flag, const std::string& path);
// InvalidArgument if there are no inputs, or if one is standard input, or if args.begin and
// args.end are wrong. `want` says what the inputs of convert `kind` are: "a folder".
absl::Status CheckImageInputs(const char* kind, const char* want, const ConvertArgs& args);

// The examples of the files from args.begin to args.end of a random order that depends on
// args.seed, so that every shard and every part has images of all classes.
class ImageList : public ExampleList {
 public:
  int64_t size() const override { return static_cast<int64_t>(images_.files.size()); }
  // Errors name the file.
  absl::StatusOr<tensorflow::Example> Read(int64_t i) const override;
  std::string Identity() const override;

 protected:
  // `identity` is what the examples depend on besides the files: lines of text.
  ImageList(ImageFiles images, const ConvertArgs& args, std::string identity);
  virtual absl::StatusOr<tensorflow::Example> MakeExample(const ImageFile& file,
                                                          std::string bytes) const = 0;

 private:
  ImageFiles images_;
  std::string identity_;
};

}  // namespace tpurun

#endif  // TPURUN_DATA_CONVERT_IMAGE_FILES_H_
