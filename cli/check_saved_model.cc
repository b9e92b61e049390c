#include "cli/check_saved_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/inspect_rows.h"
#include "cli/json.h"
#include "cli/manual/render.h"
#include "cli/model_graph.h"
#include "cli/read_saved_model.h"
#include "cli/tpu_findings.h"
#include "google/protobuf/stubs/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/tpu/tensorflow_ops.h"

namespace tpurun {
namespace {

using tensorflow::MetaGraphDef;
using tensorflow::SignatureDef;
using tensorflow::TensorInfo;

// More are in no model; each is walked alone.
constexpr int kMaxSignatures = 64;
constexpr size_t kShownNodes = 3, kShownOps = 5, kTextColumns = 100;
// Of a name in a table: the longest makes its column as wide as itself.
constexpr size_t kMaxNameLength = 200;

std::string Clipped(const std::string& name) {
  if (name.size() <= kMaxNameLength) return name;
  return absl::StrCat(Escape(std::string_view(name).substr(0, kMaxNameLength)), "...");
}

// ------------------------------------------------------------------------- what a signature runs

// What is computed together: a signature, or a whole graph that has none.
struct Computation {
  std::string name;  // of the signature
  std::vector<int> roots = {};
  std::vector<FedTensor> fed = {};
};

// The names of the tensors: of a sparse one, three.
std::vector<std::string> TensorsOf(const TensorInfo& info) {
  std::vector<std::string> names = {info.name(), info.coo_sparse().values_tensor_name(),
                                    info.coo_sparse().indices_tensor_name(),
                                    info.coo_sparse().dense_shape_tensor_name()};
  std::erase(names, "");
  return names;
}

using TensorInfoMap = google::protobuf::Map<std::string, TensorInfo>;

// The vertices of inputs or outputs of a signature, in the order of their keys.
absl::StatusOr<std::vector<FedTensor>> VerticesOf(const ModelGraph& graph,
                                                  const TensorInfoMap& tensors,
                                                  const std::string& signature) {
  std::vector<FedTensor> vertices;
  for (const auto& [key, info] :
       std::map<std::string, TensorInfo>(tensors.begin(), tensors.end())) {
    for (const std::string& name : TensorsOf(info)) {
      const int vertex = graph.Find(name);
      if (vertex < 0) {
        return absl::DataLossError(
            absl::StrCat("signature ", Quote(signature), ": ", Quote(key), " is tensor ",
                         Quote(name), ", want one of a node of the graph; export the model again"));
      }
      vertices.push_back({vertex, info});
    }
  }
  return vertices;
}

// Those that are called, not what loads the model.
std::vector<std::string> SignaturesOf(const MetaGraphDef& meta) {
  std::vector<std::string> keys;
  for (const auto& [key, signature] : meta.signature_def()) {
    if (!absl::StartsWith(key, "__saved_model_")) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// What saves, restores and initializes variables.
absl::StatusOr<ModelGraph::Set> ReachSaver(const MetaGraphDef& meta, ModelGraph& graph) {
  std::vector<std::string> names = {meta.saver_def().filename_tensor_name(),
                                    meta.saver_def().save_tensor_name(),
                                    meta.saver_def().restore_op_name()};
  for (const char* const key : {"saved_model_main_op", "legacy_init_op"}) {
    const auto found = meta.collection_def().find(key);
    if (found == meta.collection_def().end()) continue;
    for (const std::string& name : found->second.node_list().value()) names.push_back(name);
  }
  for (const auto& [key, signature] : meta.signature_def()) {
    for (const auto& [name, info] : signature.outputs()) names.push_back(info.name());
  }
  std::vector<int> roots;
  for (const std::string& name : names) {
    if (const int vertex = graph.Find(name); vertex >= 0) roots.push_back(vertex);
  }
  return graph.Reach(roots, {});
}

// All of a graph without signatures but its saver. `with_functions`: also the functions that it
// does not call, which are what a SavedModel of TensorFlow 2 is loaded for.
absl::StatusOr<Computation> WholeGraph(const MetaGraphDef& meta, bool with_functions,
                                       ModelGraph& graph) {
  ASSIGN_OR_RETURN(const ModelGraph::Set saver, ReachSaver(meta, graph));
  std::set<std::string> saving;
  for (size_t vertex = 0; vertex < saver.size(); ++vertex) {
    if (saver[vertex]) saving.insert(graph.FunctionOf(static_cast<int>(vertex)));
  }
  Computation whole;
  for (int vertex = 0; vertex < graph.num_nodes_of_graph(); ++vertex) {
    const tensorflow::NodeDef& node = *graph.vertex(vertex).node;
    if (saver[vertex]) continue;
    whole.roots.push_back(vertex);
    if (node.op() == "Placeholder" || node.op() == "PlaceholderWithDefault") {
      whole.fed.push_back({vertex, {}});
    }
  }
  if (!with_functions) return whole;
  for (const auto& function : meta.graph_def().library().function()) {
    const std::string& name = function.signature().name();
    if (saving.count(name) > 0) continue;
    ASSIGN_OR_RETURN(const std::vector<int> nodes, graph.NodesOfFunction(name));
    whole.roots.insert(whole.roots.end(), nodes.begin(), nodes.end());
  }
  return whole;
}

absl::StatusOr<std::vector<Computation>> ComputationsOf(const MetaGraphDef& meta,
                                                        bool with_functions, ModelGraph& graph) {
  std::vector<Computation> computations;
  const std::vector<std::string> keys = SignaturesOf(meta);
  if (keys.size() > kMaxSignatures) {
    return absl::DataLossError(absl::StrCat("got ", keys.size(), " signatures, want at most ",
                                            kMaxSignatures, "; export fewer"));
  }
  for (const std::string& key : keys) {
    const SignatureDef& signature = meta.signature_def().at(key);
    Computation computation{.name = key};
    ASSIGN_OR_RETURN(computation.fed, VerticesOf(graph, signature.inputs(), key));
    ASSIGN_OR_RETURN(const std::vector<FedTensor> outputs,
                     VerticesOf(graph, signature.outputs(), key));
    for (const FedTensor& output : outputs) computation.roots.push_back(output.vertex);
    computations.push_back(std::move(computation));
  }
  if (keys.empty()) {
    ASSIGN_OR_RETURN(Computation whole, WholeGraph(meta, with_functions, graph));
    computations.push_back(std::move(whole));
  }
  return computations;
}

// ---------------------------------------------------------------------------------- the findings

// By vertex; those that run have an empty set.
using Findings = std::map<int, std::set<TpuFinding>>;

// What is computed for dropped nodes alone, such as the text of a Print, is dropped with them.
absl::Status ForgetInputsOfDropped(const Computation& computation, ModelGraph::Set cut,
                                   ModelGraph& graph, Findings& findings) {
  bool any = false;
  for (const auto& [vertex, of_vertex] : findings) {
    for (const TpuFinding& finding : of_vertex) {
      if (finding.verdict != TpuVerdict::kDropped) continue;
      cut.resize(graph.num_vertices());
      cut[vertex] = any = true;
    }
  }
  if (!any) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ModelGraph::Set needed, graph.Reach(computation.roots, cut));
  std::erase_if(findings, [&](const auto& entry) {
    return entry.first >= static_cast<int>(needed.size()) || !needed[entry.first];
  });
  return absl::OkStatus();
}

absl::StatusOr<Findings> FindingsOf(const Computation& computation, ModelGraph& graph) {
  ModelGraph::Set fed(graph.num_vertices());
  for (const FedTensor& input : computation.fed) fed[input.vertex] = true;
  ASSIGN_OR_RETURN(const ModelGraph::Set reached, graph.Reach(computation.roots, fed));
  const ModelGraph::Set varying = graph.Varying(reached, fed);
  Findings findings;
  for (int vertex = 0; vertex < static_cast<int>(reached.size()); ++vertex) {
    const bool is_fed = vertex < static_cast<int>(fed.size()) && fed[vertex];
    if (!reached[vertex] || is_fed || graph.vertex(vertex).node == nullptr) continue;
    std::vector<TpuFinding> found = FindingsOfNode(graph, vertex, varying);
    findings[vertex].insert(found.begin(), found.end());
  }
  RETURN_IF_ERROR(ForgetInputsOfDropped(computation, fed, graph, findings));
  for (const FedTensor& input : computation.fed) {
    const std::vector<TpuFinding> found = FindingsOfInput(graph, input);
    findings[input.vertex].insert(found.begin(), found.end());
  }
  return findings;
}

bool HasViolation(const std::set<TpuFinding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const TpuFinding& finding) { return IsViolation(finding.verdict); });
}

// The nodes of one op with one finding.
struct OpNodes {
  int64_t count = 0;
  std::vector<std::string> first = {};
};

// By verdict, so that what is refused comes first.
using OpTable = std::map<std::tuple<TpuVerdict, std::string, TpuFinding>, OpNodes>;

OpTable TableOf(const Findings& findings, const ModelGraph& graph) {
  OpTable table;
  const auto add = [&](int vertex, const TpuFinding& finding) {
    const tensorflow::NodeDef& node = *graph.vertex(vertex).node;
    OpNodes& nodes = table[{finding.verdict, node.op(), finding}];
    ++nodes.count;
    if (nodes.first.size() == kShownNodes) return;
    const std::string function = graph.FunctionOf(vertex);
    nodes.first.push_back(function.empty()
                              ? Clipped(node.name())
                              : absl::StrCat(Clipped(function), ":", Clipped(node.name())));
  };
  for (const auto& [vertex, of_vertex] : findings) {
    for (const TpuFinding& finding : of_vertex) add(vertex, finding);
    if (of_vertex.empty()) add(vertex, {});
  }
  return table;
}

// ------------------------------------------------------------------------------------ the output

struct ModelTotals {
  int64_t nodes = 0;
  int64_t warnings = 0;  // rows
  std::set<std::string> ops = {};
  // What is refused, with the number of findings; the worst verdict first.
  std::vector<std::pair<std::string, int64_t>> refused = {};
  std::map<std::string, size_t> place_of = {};  // in `refused`
};

void AddRefused(const std::string& op, int64_t count, ModelTotals& totals) {
  const auto [place, is_new] = totals.place_of.emplace(op, totals.refused.size());
  if (is_new) totals.refused.emplace_back(op, 0);
  totals.refused[place->second].second += count;
}

Json MetaTags(const MetaGraphDef& meta) {
  Json tags = Json::array();
  for (const std::string& tag : meta.meta_info_def().tags()) tags.push_back(Clipped(tag));
  return tags;
}

Json RowOf(const OpTable::value_type& entry, const Json& tags) {
  const auto& [verdict, op, finding] = entry.first;
  Json row = {{"kind", "op"},
              {"tags", tags},
              {"op", Clipped(op)},
              {"count", entry.second.count},
              {"verdict", NameOf(verdict)}};
  if (verdict == TpuVerdict::kRuns) {
    const TpuOp* const listed = FindTpuOp(op);
    if (listed != nullptr && listed->name != op) row["as"] = std::string(listed->name);
    return row;
  }
  row["reason"] = finding.reason;
  row["cure"] = finding.cure;
  row["nodes"] = entry.second.first;
  row["more"] = entry.second.count - static_cast<int64_t>(entry.second.first.size());
  return row;
}

// "a, b and 3 more", in place of the lists of the JSON row.
Json TextRowOf(Json row) {
  const int64_t more = row["more"];
  std::vector<std::string> names;
  for (const Json& node : row["nodes"]) names.push_back(node);
  row["nodes"] = absl::StrCat(absl::StrJoin(names, ", "),
                              more == 0 ? "" : absl::StrCat(" and ", more, " more"));
  return row;
}

// What is found first, in text with the reason and the cure below each row.
void WriteOps(const OpTable& table, const Json& tags, bool json, RowWriter& rows) {
  std::vector<Json> found, running;
  for (const auto& entry : table) {
    Json row = RowOf(entry, tags);
    const bool runs = std::get<TpuVerdict>(entry.first) == TpuVerdict::kRuns;
    if (!runs && !json) row = TextRowOf(std::move(row));
    (runs ? running : found).push_back(std::move(row));
  }
  if (!found.empty()) {
    rows.Begin({{"op"}, {"count", true}, {"verdict"}, {"nodes"}});
    for (const Json& row : found) rows.Widen(row);
    rows.Heading();
  }
  for (const Json& row : found) {
    rows.Row(row);
    const std::string why =
        absl::StrCat(row["reason"].get<std::string>(), "; ", row["cure"].get<std::string>());
    rows.Title(std::string(absl::StripSuffix(Wrapped(Escape(why), kTextColumns, 4), "\n")));
  }
  rows.Table({{"op"}, {"count", true}, {"verdict"}, {"as"}}, running);
}

// `with_functions` as in WholeGraph.
absl::Status WriteMetaGraphOps(const MetaGraphDef& meta, bool with_functions, bool json,
                               RowWriter& rows, ModelTotals& totals) {
  ASSIGN_OR_RETURN(ModelGraph graph, ModelGraph::Create(meta.graph_def()));
  ASSIGN_OR_RETURN(const std::vector<Computation> computations,
                   ComputationsOf(meta, with_functions, graph));
  const Json tags = MetaTags(meta);
  Findings all;
  std::vector<Json> signatures;
  for (const Computation& computation : computations) {
    ASSIGN_OR_RETURN(const Findings findings, FindingsOf(computation, graph));
    int64_t refused = 0;
    for (const auto& [vertex, of_vertex] : findings) {
      refused += HasViolation(of_vertex) ? 1 : 0;
      all[vertex].insert(of_vertex.begin(), of_vertex.end());
    }
    if (computation.name.empty()) continue;
    signatures.push_back({{"kind", "signature"},
                          {"tags", tags},
                          {"signature", Clipped(computation.name)},
                          {"nodes", findings.size()},
                          {"refused", refused},
                          {"runs", refused == 0}});
  }
  const OpTable table = TableOf(all, graph);
  const std::string named =
      tags.empty() ? "graph"
                   : absl::StrCat("meta graph ",
                                  Escape(Clipped(absl::StrJoin(meta.meta_info_def().tags(), ","))));
  rows.Title(absl::StrCat(named, ": ", all.size(), " nodes are ",
                          signatures.empty() ? "checked" : "what its signatures compute"));
  rows.Object({{"kind", "meta_graph"},
               {"tags", tags},
               {"signatures", signatures.size()},
               {"nodes", all.size()}});
  rows.Table({{"signature"}, {"nodes", true}, {"refused", true}, {"runs"}}, signatures);
  WriteOps(table, tags, json, rows);
  totals.nodes += static_cast<int64_t>(all.size());
  for (const auto& [key, nodes] : table) {
    const auto& [verdict, op, finding] = key;
    totals.ops.insert(op);
    if (IsViolation(verdict)) {
      AddRefused(op, nodes.count, totals);
    } else if (verdict != TpuVerdict::kRuns) {
      ++totals.warnings;
    }
  }
  return absl::OkStatus();
}

std::string JsonFormat(const std::string& format) {
  if (format == "SavedModel") return "saved_model";
  return format == "GraphDef" ? "graph_def" : "meta_graph_def";
}

// "Unique (2 nodes), Where (1 node) and 3 more ops".
std::string RefusedText(const std::vector<std::pair<std::string, int64_t>>& refused) {
  std::vector<std::string> ops;
  for (const auto& [op, count] : refused) {
    if (ops.size() == kShownOps) break;
    ops.push_back(
        absl::StrCat(Escape(Clipped(op)), " (", count, count == 1 ? " node)" : " nodes)"));
  }
  const size_t more = refused.size() - ops.size();
  return absl::StrCat(absl::StrJoin(ops, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more ops"));
}

}  // namespace

absl::Status CheckModelFile(const std::string& path, bool json, std::ostream& out,
                            int64_t& warnings) {
  ASSIGN_OR_RETURN(const ModelFile file, ReadModelFile(path));
  const google::protobuf::LogSilencer silencer;
  RowWriter rows(json, out);
  rows.Title(absl::StrCat(file.format, " ", Escape(file.path), " on a Cloud TPU"));
  ModelTotals totals;
  for (const MetaGraphDef& meta : file.model.meta_graphs()) {
    const absl::Status status =
        WriteMetaGraphOps(meta, file.format == "SavedModel", json, rows, totals);
    if (!status.ok()) return Annotate(status, file.path);
  }
  warnings = totals.warnings;
  std::set<std::string> refused;
  for (const auto& [op, count] : totals.refused) refused.insert(Clipped(op));
  rows.Object({{"kind", "model"},
               {"format", JsonFormat(file.format)},
               {"nodes", totals.nodes},
               {"ops", totals.ops.size()},
               {"refused_ops", refused},
               {"warnings", totals.warnings},
               {"runs", totals.refused.empty()}});
  rows.Title(absl::StrCat("total: ", totals.nodes, " nodes of ", totals.ops.size(),
                          " ops; refused ops: ", totals.refused.size(),
                          "; warnings: ", totals.warnings));
  if (totals.refused.empty()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      file.path, ": Detected unsupported operations when trying to compile graph on XLA_TPU_JIT: ",
      RefusedText(totals.refused),
      "; the table says what each lacks, tpurun help tpu_ops what a TPU has"));
}

absl::Status CheckSavedModel(const CommandLine& command) {
  std::vector<std::string> others;
  for (const char* const name : {"accelerator_type", "numerics", "steps", "config", "dump_dir",
                                 "measure_input", "host_examples_per_second"}) {
    if (command.Has(name)) others.push_back(absl::StrCat("--", name));
  }
  for (const Edit& edit : command.edits()) others.push_back(edit.flag);
  if (!others.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        others.front(), " is for a configuration, and --saved_model needs none; give one of them"));
  }
  if (command.GetString("saved_model").empty()) {
    return absl::InvalidArgumentError(
        "--saved_model: got \"\", want the folder of a SavedModel or the file of a GraphDef");
  }
  std::ostringstream out;
  int64_t warnings = 0;
  const absl::Status status =
      CheckModelFile(command.GetString("saved_model"), PrintsJson(command), out, warnings);
  const bool complete = status.ok() || absl::IsUnimplemented(status);
  if (complete) RETURN_IF_ERROR(WriteOutput(out.str()));
  RETURN_IF_ERROR(status);
  return command.GetBool("strict") ? WarningsError(warnings) : absl::OkStatus();
}

}  // namespace tpurun
