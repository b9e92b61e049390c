// `inspect` of a SavedModel: its meta graphs with their signatures and ops, then its variables.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/config/read_message.h"
#include "cli/inspect.h"
#include "google/protobuf/stubs/logging.h"
#include "proto/saved_model.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"
#include "runtime/io/object_graph.h"
#include "runtime/spec/export_names.h"
#include "runtime/spec/global_step.h"

namespace tpurun {
namespace {

using tensorflow::MetaGraphDef;

// The entry of an object-based checkpoint (TensorFlow 2) that says how its tensors are called.

// A list, -1 where a dimension is open; null of an unknown rank.
Json ShapeOf(const tensorflow::TensorShapeProto& shape) {
  if (shape.unknown_rank()) return nullptr;
  Json dims = Json::array();
  for (const auto& dim : shape.dim()) dims.push_back(dim.size());
  return dims;
}

// What feeds or fetches it: "x:0"; of a sparse tensor all three.
Json TensorNameOf(const tensorflow::TensorInfo& info) {
  switch (info.encoding_case()) {
    case tensorflow::TensorInfo::kName:
      return info.name();
    case tensorflow::TensorInfo::kCooSparse:
      return absl::StrCat(info.coo_sparse().values_tensor_name(), ",",
                          info.coo_sparse().indices_tensor_name(), ",",
                          info.coo_sparse().dense_shape_tensor_name());
    default:
      return nullptr;
  }
}

Json TagsOf(const MetaGraphDef& meta) {
  Json tags = Json::array();
  for (const std::string& tag : meta.meta_info_def().tags()) tags.push_back(tag);
  return tags;
}

// In the order of keys, which protobuf's maps have not.
template <typename Map>
std::map<std::string, typename Map::mapped_type> Sorted(const Map& map) {
  return {map.begin(), map.end()};
}

using TensorInfos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;

// What a SavedModel of tpurun says of its signatures and of their inputs: text by "KEY" and
// "KEY\tINPUT".
std::map<std::string, std::string> DocsOf(const MetaGraphDef& meta) {
  std::map<std::string, std::string> docs;
  const auto found = meta.collection_def().find(kSignatureDocs);
  if (found == meta.collection_def().end()) return docs;
  for (const std::string& line : found->second.bytes_list().value()) {
    const size_t tab = line.rfind('\t');
    if (tab != std::string::npos) docs[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return docs;
}

void AddTensors(const Json& signature, const std::string& kind, const TensorInfos& tensors,
                std::vector<Json>& rows) {
  for (const auto& [name, info] : Sorted(tensors)) {
    Json row = {{"kind", kind}};
    row.update(signature);
    row.update({{"name", name},
                {"dtype", DTypeName(info.dtype())},
                {"shape", ShapeOf(info.tensor_shape())},
                {"tensor", TensorNameOf(info)}});
    rows.push_back(std::move(row));
  }
}

void WriteSignatures(const MetaGraphDef& meta, RowWriter& rows) {
  const std::map<std::string, std::string> docs = DocsOf(meta);
  const auto add_doc = [&docs](const std::string& of, const char* field, Json& row) {
    const auto doc = docs.find(of);
    if (doc != docs.end()) row[field] = JsonBytes(doc->second);
    return doc != docs.end();
  };
  for (const auto& [key, def] : Sorted(meta.signature_def())) {
    const auto doc = docs.find(key);
    rows.Title(
        absl::StrCat("signature ", Escape(key), ": ",
                     def.method_name().empty() ? "-" : Escape(def.method_name()),
                     doc == docs.end() ? "" : absl::StrCat(", takes ", Escape(doc->second))));
    const Json signature = {{"tags", TagsOf(meta)}, {"signature", key}};
    Json object = {{"kind", "signature"}};
    object.update(signature);
    object["method"] = def.method_name();
    add_doc(key, "takes", object);
    rows.Object(object);
    std::vector<Json> tensors;
    AddTensors(signature, "input", def.inputs(), tensors);
    bool any_note = false;
    for (Json& row : tensors) {
      any_note |= add_doc(absl::StrCat(key, "\t", row["name"].get<std::string>()), "note", row);
    }
    AddTensors(signature, "output", def.outputs(), tensors);
    std::vector<RowColumn> columns = {{"kind"}, {"name"}, {"dtype"}, {"shape"}, {"tensor"}};
    if (any_note) columns.push_back({"note"});
    rows.Table(columns, tensors);
  }
}

void WriteMetaGraph(const MetaGraphDef& meta, RowWriter& rows) {
  const tensorflow::GraphDef& graph = meta.graph_def();
  std::map<std::string, int64_t> ops;
  for (const auto& node : graph.node()) ++ops[node.op()];
  int64_t function_nodes = 0;
  for (const auto& function : graph.library().function()) {
    for (const auto& node : function.node_def()) ++ops[node.op()];
    function_nodes += function.node_def_size();
  }
  const std::string& version = meta.meta_info_def().tensorflow_version();
  rows.Title(absl::StrCat("meta graph ", Escape(absl::StrJoin(meta.meta_info_def().tags(), ",")),
                          ": TensorFlow ", version.empty() ? "-" : Escape(version), ", ",
                          graph.node_size(), " nodes and ", function_nodes, " in ",
                          graph.library().function_size(), " functions"));
  rows.Object({{"kind", "meta_graph"},
               {"tags", TagsOf(meta)},
               {"tensorflow_version", version},
               {"nodes", graph.node_size()},
               {"functions", graph.library().function_size()},
               {"function_nodes", function_nodes}});
  WriteSignatures(meta, rows);
  std::vector<Json> op_rows;
  for (const auto& [op, count] : ops) {
    op_rows.push_back({{"kind", "op"}, {"tags", TagsOf(meta)}, {"op", op}, {"count", count}});
  }
  rows.Table({{"op"}, {"count", true}}, op_rows);
}

// ---- Variables ----

// The names under which TensorFlow 1 saves the parts of partitioned variables, by those of the
// parts.
std::map<std::string, std::string> WholeNames(const MetaGraphDef& meta) {
  std::map<std::string, std::string> names;
  for (const auto& [key, collection] : meta.collection_def()) {
    for (const std::string& bytes : collection.bytes_list().value()) {
      tensorflow::VariableDef def;
      // Other collections have other messages.
      if (!absl::StrContains(key, "variables") || !def.ParseFromString(bytes)) continue;
      if (def.save_slice_info_def().full_name().empty()) continue;
      names[std::string(absl::StripSuffix(def.variable_name(), ":0"))] =
          def.save_slice_info_def().full_name();
    }
  }
  return names;
}

// Rows by name of the graphs' variables that the bundle does not have; `reader` is null where there
// is no bundle. Names in object-based checkpoints are not the graph's: then none.
std::map<std::string, Json> UnsavedVariables(const tensorflow::SavedModel& model,
                                             const BundleReader* reader) {
  std::map<std::string, Json> unsaved;
  if (reader != nullptr && reader->Find(kObjectGraph) != nullptr) return unsaved;
  for (const MetaGraphDef& meta : model.meta_graphs()) {
    const std::map<std::string, std::string> wholes = WholeNames(meta);
    for (const auto& node : meta.graph_def().node()) {
      if (node.op() != "VarHandleOp" && node.op() != "VariableV2") continue;
      const auto attr = [&node](const char* key) {
        const auto found = node.attr().find(key);
        return found == node.attr().end() ? tensorflow::AttrValue() : found->second;
      };
      const std::string shared = attr("shared_name").s();
      const std::string& name = shared.empty() ? node.name() : shared;
      const auto whole = wholes.find(node.name());
      const std::string& saved = whole == wholes.end() ? name : whole->second;
      if (reader != nullptr && reader->Find(saved) != nullptr) continue;
      unsaved[name] = {{"kind", "variable"},
                       {"name", name},
                       {"dtype", DTypeName(attr("dtype").type())},
                       {"shape", ShapeOf(attr("shape").shape())},
                       {"bytes", nullptr}};
    }
  }
  return unsaved;
}

// Writes the bundle's variables and adds what they amount to to `model`, the row of the whole.
absl::Status WriteSaved(const BundleReader& reader, RowWriter& rows, Json& model) {
  ASSIGN_OR_RETURN(const auto full_names, FullNames(reader));
  const auto row_of = [&](const BundleEntry& entry) -> Json {
    if (entry.name == kObjectGraph) return nullptr;
    Json row = {{"kind", "variable"}};
    row.update(TensorRow(entry));
    const auto full_name = full_names.find(entry.name);
    if (full_name == full_names.end()) return row;
    if (!full_name->second.empty()) row["name"] = full_name->second;
    row["checkpoint_key"] = entry.name;
    return row;
  };
  TensorTotals totals;
  int64_t variables = 0;
  const BundleEntry* step = nullptr;
  for (const BundleEntry& entry : reader.entries()) {
    const Json row = row_of(entry);
    if (row.is_null()) continue;
    ++variables;
    totals.Add(row["dtype"], NumElements(entry.shape).value_or(0),
               static_cast<int64_t>(entry.size));
    if (row["name"] == kGlobalStep) step = &entry;
  }
  model["variables"] = variables;
  model["parameters"] = totals.parameters;
  model["bytes"] = totals.bytes;
  if (variables == 0) return absl::OkStatus();
  std::vector<RowColumn> columns = {{"name"}, {"dtype"}, {"shape"}, {"bytes", true}};
  if (!full_names.empty()) columns.push_back({"checkpoint_key"});
  columns.push_back({"value"});
  RETURN_IF_ERROR(WriteTensors(reader, row_of, std::move(columns), rows));
  if (step == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(model[kGlobalStep], ReadValue(reader, *step));
  return absl::OkStatus();
}

absl::Status WriteVariables(const tensorflow::SavedModel& saved_model, const std::string& dir,
                            RowWriter& rows, Json& model) {
  const std::string prefix = JoinPath(dir, "variables/variables");
  std::unique_ptr<BundleReader> reader;
  if (!IsAbsent(BundleIndexPath(prefix))) {
    ASSIGN_OR_RETURN(reader, BundleReader::Open(prefix));
  }
  if (reader != nullptr) RETURN_IF_ERROR(WriteSaved(*reader, rows, model));
  std::vector<Json> unsaved;
  for (const auto& [name, row] : UnsavedVariables(saved_model, reader.get())) {
    unsaved.push_back(row);
  }
  model["unsaved_variables"] = unsaved.size();
  rows.Table({{"name"}, {"dtype"}, {"shape"}, {"bytes", true}}, unsaved);
  return absl::OkStatus();
}

// Of the row of the whole.
std::string TotalsText(const Json& model) {
  std::string text = absl::StrCat("total: ", JsonText(model["variables"]), " variables, ",
                                  JsonText(model["parameters"]), " parameters, ",
                                  JsonText(model["bytes"]), " bytes");
  if (model["unsaved_variables"] != 0) {
    absl::StrAppend(&text, ", ", JsonText(model["unsaved_variables"]), " variables unsaved");
  }
  if (model.contains(kGlobalStep)) {
    absl::StrAppend(&text, ", global_step ", JsonText(model[kGlobalStep]));
  }
  return text;
}

}  // namespace

absl::Status InspectSavedModel(const std::string& path, bool json, std::ostream& out) {
  tensorflow::SavedModel saved_model;
  RETURN_IF_ERROR(ReadMessage(path, "SavedModel", saved_model));
  // What its bytes hold as further messages is shown as far as it can be read.
  const google::protobuf::LogSilencer silencer;
  if (saved_model.meta_graphs().empty()) {
    return absl::DataLossError(absl::StrCat(
        path, ": got a SavedModel without a meta graph, want at least one; export it again"));
  }
  RowWriter rows(json, out);
  rows.Title(absl::StrCat("SavedModel ", Escape(path), ": ", saved_model.meta_graphs_size(),
                          saved_model.meta_graphs_size() == 1 ? " meta graph" : " meta graphs"));
  for (const MetaGraphDef& meta : saved_model.meta_graphs()) WriteMetaGraph(meta, rows);
  Json model = {{"kind", "model"},
                {"format", "saved_model"},
                {"schema_version", saved_model.saved_model_schema_version()},
                {"meta_graphs", saved_model.meta_graphs_size()},
                {"variables", 0},
                {"parameters", 0},
                {"bytes", 0}};
  RETURN_IF_ERROR(WriteVariables(saved_model, DirName(path), rows, model));
  rows.Object(model);
  rows.Title(TotalsText(model));
  return absl::OkStatus();
}

}  // namespace tpurun
