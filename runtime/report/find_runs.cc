#include "runtime/report/find_runs.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

namespace fs = std::filesystem;

// "a/b/" and "./a/b" as "/CURRENT/a/b".
fs::path FullPath(const std::string& dir) {
  std::error_code error;
  const fs::path absolute = fs::absolute(dir, error);
  const fs::path normal = (error ? fs::path(dir) : absolute).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

fs::path CommonParent(const std::vector<fs::path>& dirs) {
  fs::path common = dirs.front();
  for (const fs::path& dir : dirs) {
    const auto end = std::mismatch(common.begin(), common.end(), dir.begin(), dir.end()).first;
    fs::path shorter;
    for (auto part = common.begin(); part != end; ++part) shorter /= *part;
    common = shorter;
  }
  return common;
}

std::string NameBelow(const fs::path& parent, const fs::path& path) {
  const fs::path relative = path.lexically_relative(parent);
  if (relative != ".") return relative.string();
  return parent.has_filename() ? parent.filename().string() : parent.string();
}

class Finder {
 public:
  Finder(fs::path parent, std::vector<std::string>* warnings)
      : parent_(std::move(parent)), warnings_(*warnings) {}

  absl::Status AddRoot(const fs::path& dir, const std::string& as_given) {
    const size_t runs_before = runs_.size();
    if (!FirstVisit(dir)) return absl::OkStatus();
    RETURN_IF_ERROR(Visit(dir, /*may_evaluate=*/false));
    if (runs_.size() > runs_before) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(
        "no event file (*tfevents*) in ", as_given,
        " or below it; name the model_dir of a run that has trained, or a folder of such"));
  }

  std::vector<RunFolder> Runs() && {
    std::sort(runs_.begin(), runs_.end(), [](const RunFolder& a, const RunFolder& b) {
      return std::tie(a.training, a.evaluation, a.path) <
             std::tie(b.training, b.evaluation, b.path);
    });
    return std::move(runs_);
  }

 private:
  bool FirstVisit(const fs::path& dir) {
    std::error_code error;
    const fs::path real = fs::canonical(dir, error);
    return visited_.insert(error ? dir : real).second;
  }

  // `may_evaluate`: the directory above belongs to the report too.
  absl::Status Visit(const fs::path& dir, bool may_evaluate) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir.string()));
    RunFolder run = {.name = NameBelow(parent_, dir), .path = dir.string()};
    std::vector<fs::path> folders;
    for (const std::string& name : names) {
      const fs::path path = dir / name;
      if (IsDirectory(path.string())) {
        folders.push_back(path);
      } else if (IsEventFileName(name)) {
        run.event_files.push_back(path.string());
      }
    }
    const std::string base = dir.filename().string();
    const bool evaluates = may_evaluate && IsEvaluationFolder(base);
    run.training = evaluates ? NameBelow(parent_, dir.parent_path()) : run.name;
    run.evaluation = evaluates ? base : "";
    if (!run.event_files.empty()) runs_.push_back(std::move(run));
    for (const fs::path& folder : folders) {
      if (!FirstVisit(folder)) continue;
      const absl::Status status = Visit(folder, /*may_evaluate=*/true);
      if (!status.ok()) warnings_.emplace_back(status.message());
    }
    return absl::OkStatus();
  }

  const fs::path parent_;
  std::vector<std::string>& warnings_;
  std::set<fs::path> visited_;
  std::vector<RunFolder> runs_;
};

}  // namespace

bool IsEvaluationFolder(const std::string& name) {
  return name == "eval" || absl::StartsWith(name, "eval_");
}

std::string ModelDirOf(const RunFolder& folder) {
  return folder.evaluation.empty() ? folder.path : DirName(folder.path);
}

absl::StatusOr<std::vector<RunFolder>> FindRuns(const std::vector<std::string>& dirs,
                                                std::vector<std::string>* warnings) {
  std::vector<std::pair<fs::path, std::string>> roots;
  std::vector<fs::path> paths;
  for (const std::string& dir : dirs) {
    paths.push_back(FullPath(dir));
    roots.emplace_back(paths.back(), dir);
  }
  // The one above comes first, so that an evaluation finds its training.
  std::sort(roots.begin(), roots.end());
  Finder finder(CommonParent(paths), warnings);
  for (const auto& [path, as_given] : roots) RETURN_IF_ERROR(finder.AddRoot(path, as_given));
  return std::move(finder).Runs();
}

}  // namespace tpurun
