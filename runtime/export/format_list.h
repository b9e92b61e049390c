// The table of the formats that `export` writes, one row for each value of export_format.
#ifndef TPURUN_RUNTIME_EXPORT_FORMAT_LIST_H_
#define TPURUN_RUNTIME_EXPORT_FORMAT_LIST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "proto/run_config.pb.h"
#include "runtime/export/exported_model.h"
#include "runtime/export/saved_model.h"

namespace tpurun {

// The contents of an exported model, for every format.
struct ExportContents {
  const ExportedModel& model;                // in the ops of the format
  const std::vector<Signature>& signatures;  // empty for a format without signatures
  std::string name;                          // of the model
  const proto::Export& config;
  // The bytes of the variable with that key in the graph, as in SavedModelContents.
  std::function<std::string_view(const std::string& key)> value_of;
  int64_t global_step = 0;
  std::map<std::string, std::string> assets;  // the bytes of the files, by name
};

struct ExportFormatDef {
  std::string name;             // the value of export_format
  std::string folder;           // below export's directory; empty: that directory itself
  ExportFormat ops;             // the ops of its graph
  ExportRule OpDef::*rule;      // the export rules for these ops
  bool has_signatures = false;  // the file has MakeSignatures' signatures
  // Whether the model is fed with its features, although the input's transforms could be exported.
  bool (*feeds_features)(const proto::Export& config);
  // Writes the files durably into `dir`, which must exist.
  absl::Status (*write)(const ExportContents& contents, const std::string& dir);
};

const std::vector<ExportFormatDef>& ExportFormatList();

// The rows of the formats that `config` names, in its order; saved_model if it names none. Each
// name must have a row.
std::vector<const ExportFormatDef*> ExportFormats(const proto::Export& config);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_EXPORT_FORMAT_LIST_H_
