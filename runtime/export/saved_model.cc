#include "runtime/export/saved_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/saved_model.pb.h"
#include "proto/serialize.h"
#include "runtime/base/status.h"
#include "runtime/export/graph_def.h"
#include "runtime/io/file.h"
#include "runtime/io/tensor_bundle.h"
#include "runtime/spec/export_names.h"

namespace tpurun {
namespace {

constexpr char kGlobalStepKey[] = "global_step";
// The version of graphs is that of kGraphProducer.
constexpr char kTensorFlowVersion[] = "1.15.0";

// Sorted by key, the order of a bundle.
std::vector<const ExportNode*> VariablesOf(const ExportGraph& graph) {
  std::vector<const ExportNode*> variables;
  for (const ExportNode& node : graph.nodes()) {
    if (node.kind == ExportNode::Kind::kVariable) variables.push_back(&node);
  }
  std::sort(variables.begin(), variables.end(),
            [](const ExportNode* a, const ExportNode* b) { return a->key < b->key; });
  return variables;
}

// What saves and restores all variables: who loads the SavedModel feeds save/Const with the prefix
// and runs save/restore_all.
tensorflow::SaverDef AppendSaver(const std::vector<const ExportNode*>& variables,
                                 tensorflow::GraphDef& graph) {
  std::vector<std::string> keys, tensors;
  std::vector<ElementType> types;
  for (const ExportNode* variable : variables) {
    keys.push_back(variable->key);
    types.push_back(variable->type);
    tensors.push_back(absl::StrCat(variable->name, "/Read/ReadVariableOp"));
  }
  const ExportDims all = {static_cast<int64_t>(keys.size())};
  const auto strings = [&](const std::string& name, ExportTensor value) {
    AppendNode(graph, name, "Const", {}, {{"dtype", ElementType::kString}, {"value", value}});
  };
  const ExportAttrs filename = {{"dtype", ElementType::kString}, {"shape", ExportShape{}}};
  strings("save/filename/input", ExportTensor::Strings({}, {"model"}));
  AppendNode(graph, "save/filename", "PlaceholderWithDefault", {"save/filename/input"}, filename);
  AppendNode(graph, "save/Const", "PlaceholderWithDefault", {"save/filename"}, filename);
  for (const char* op : {"save/SaveV2", "save/RestoreV2"}) {
    strings(absl::StrCat(op, "/tensor_names"), ExportTensor::Strings(all, keys));
    strings(absl::StrCat(op, "/shape_and_slices"),
            ExportTensor::Strings(all, std::vector<std::string>(keys.size())));
  }
  std::vector<std::string> saved = {"save/Const", "save/SaveV2/tensor_names",
                                    "save/SaveV2/shape_and_slices"};
  saved.insert(saved.end(), tensors.begin(), tensors.end());
  AppendNode(graph, "save/SaveV2", "SaveV2", saved, {{"dtypes", types}});
  AppendNode(graph, "save/control_dependency", "Identity", {"save/Const", "^save/SaveV2"},
             {{"T", ElementType::kString}});
  AppendNode(graph, "save/RestoreV2", "RestoreV2",
             {"save/Const", "save/RestoreV2/tensor_names", "save/RestoreV2/shape_and_slices"},
             {{"dtypes", types}});
  std::vector<std::string> restored;
  for (size_t i = 0; i < variables.size(); ++i) {
    const std::string value = absl::StrCat("save/Identity_", i);
    const std::string assign = absl::StrCat("save/AssignVariableOp_", i);
    AppendNode(graph, value, "Identity", {absl::StrCat("save/RestoreV2:", i)}, {{"T", types[i]}});
    AppendNode(graph, assign, "AssignVariableOp", {variables[i]->name, value},
               {{"dtype", types[i]}});
    restored.push_back(absl::StrCat("^", assign));
  }
  AppendNode(graph, "save/restore_all", "NoOp", restored);
  tensorflow::SaverDef saver;
  saver.set_filename_tensor_name("save/Const:0");
  saver.set_save_tensor_name("save/control_dependency:0");
  saver.set_restore_op_name("save/restore_all");
  saver.set_max_to_keep(5);
  saver.set_keep_checkpoint_every_n_hours(10000);
  saver.set_version(tensorflow::SaverDef::V2);
  return saver;
}

std::string VariableDefOf(const ExportNode& variable) {
  tensorflow::VariableDef def;
  def.set_variable_name(absl::StrCat(variable.name, ":0"));
  def.set_initial_value_name(absl::StrCat(variable.name, "/Initializer/zeros:0"));
  def.set_initializer_name(absl::StrCat(variable.name, "/Assign"));
  def.set_snapshot_name(absl::StrCat(variable.name, "/Read/ReadVariableOp:0"));
  def.set_is_resource(true);
  def.set_trainable(variable.key != kGlobalStepKey);
  return SerializeDeterministically(def);
}

void AddCollections(const std::vector<const ExportNode*>& variables,
                    tensorflow::MetaGraphDef& meta) {
  auto& collections = *meta.mutable_collection_def();
  for (const ExportNode* variable : variables) {
    const std::string def = VariableDefOf(*variable);
    collections["variables"].mutable_bytes_list()->add_value(def);
    const bool is_step = variable->key == kGlobalStepKey;
    collections[is_step ? kGlobalStepKey : "trainable_variables"].mutable_bytes_list()->add_value(
        def);
  }
}

tensorflow::TensorInfo InfoOf(const ExportGraph& graph, const ExportedTensor& tensor) {
  tensorflow::TensorInfo info;
  info.set_name(TensorName(graph, tensor.value));
  info.set_dtype(ToDataType(tensor.type));
  *info.mutable_tensor_shape() = ToTensorShape(tensor.dims);
  return info;
}

absl::Status WriteVariables(const SavedModelContents& contents,
                            const std::vector<const ExportNode*>& variables,
                            const std::string& dir) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer,
                   BundleWriter::Create(JoinPath(dir, "variables/variables")));
  for (const ExportNode* variable : variables) {
    const std::string_view step(reinterpret_cast<const char*>(&contents.global_step),
                                sizeof(contents.global_step));
    const std::string_view value =
        variable->key == kGlobalStepKey ? step : contents.value_of(variable->key);
    RETURN_IF_ERROR(writer->Add(variable->key, ToDataType(variable->type), variable->dims, value));
  }
  return writer->Finish();
}

// Each with the constant of the graph that stands for its path.
absl::Status WriteAssets(const SavedModelContents& contents,
                         const std::map<std::string, Value>& paths, const std::string& dir,
                         tensorflow::MetaGraphDef& meta) {
  const std::string assets = JoinPath(dir, "assets");
  if (!contents.assets.empty()) RETURN_IF_ERROR(MakeDirectories(assets));
  for (const auto& [name, bytes] : contents.assets) {
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(assets, name), bytes));
    const std::string tensor = TensorName(contents.graph, paths.at(name));
    tensorflow::AssetFileDef& def = *meta.add_asset_file_def();
    def.set_filename(name);
    def.mutable_tensor_info()->set_name(tensor);
    def.mutable_tensor_info()->set_dtype(tensorflow::DT_STRING);
    def.mutable_tensor_info()->mutable_tensor_shape();
    (*meta.mutable_collection_def())["asset_filepaths"].mutable_node_list()->add_value(tensor);
  }
  return absl::OkStatus();
}

void AddDocs(const std::vector<Signature>& signatures, tensorflow::MetaGraphDef& meta) {
  std::vector<std::string> docs;
  for (const Signature& signature : signatures) {
    if (signature.doc.empty()) continue;
    docs.push_back(absl::StrCat(signature.key, "\t", signature.doc));
    for (const ExportedTensor& input : signature.inputs) {
      if (input.note.empty()) continue;
      docs.push_back(absl::StrCat(signature.key, "\t", input.name, "\t", input.note));
    }
  }
  if (docs.empty()) return;  // TensorFlow complains of an empty collection
  auto& values = *(*meta.mutable_collection_def())[kSignatureDocs].mutable_bytes_list();
  for (const std::string& doc : docs) values.add_value(doc);
}

}  // namespace

absl::Status WriteSavedModel(SavedModelContents contents, const std::string& dir) {
  contents.graph.Variable(kGlobalStepKey, ElementType::kInt64, {});
  std::map<std::string, Value> asset_paths;
  contents.graph.set_scope("assets");
  for (const auto& [name, bytes] : contents.assets)
    asset_paths[name] = contents.graph.Constant(ExportTensor::Strings({}, {name}), name);
  const ExportGraph& graph = contents.graph;
  const std::vector<const ExportNode*> variables = VariablesOf(graph);
  RETURN_IF_ERROR(WriteVariables(contents, variables, dir));

  tensorflow::MetaGraphDef meta;
  meta.mutable_meta_info_def()->set_tensorflow_version(kTensorFlowVersion);
  meta.mutable_meta_info_def()->set_tensorflow_git_version("tpurun");
  meta.mutable_meta_info_def()->set_stripped_default_attrs(true);
  meta.mutable_graph_def()->mutable_versions()->set_producer(kGraphProducer);
  AppendNodes(graph, *meta.mutable_graph_def());
  *meta.mutable_saver_def() = AppendSaver(variables, *meta.mutable_graph_def());
  AddCollections(variables, meta);
  RETURN_IF_ERROR(WriteAssets(contents, asset_paths, dir, meta));
  for (const Signature& signature : contents.signatures) {
    tensorflow::SignatureDef& def = (*meta.mutable_signature_def())[signature.key];
    def.set_method_name(signature.method);
    for (const ExportedTensor& input : signature.inputs) {
      (*def.mutable_inputs())[input.name] = InfoOf(graph, input);
    }
    for (const ExportedTensor& output : signature.outputs) {
      (*def.mutable_outputs())[output.name] = InfoOf(graph, output);
    }
  }
  AddDocs(contents.signatures, meta);
  tensorflow::SavedModel model;
  model.set_saved_model_schema_version(1);
  for (const std::vector<std::string>& tags : contents.tag_sets) {
    tensorflow::MetaGraphDef& tagged = *model.add_meta_graphs();
    tagged = meta;
    for (const std::string& tag : tags) tagged.mutable_meta_info_def()->add_tags(tag);
  }
  return WriteFileAtomically(JoinPath(dir, "saved_model.pb"), SerializeDeterministically(model));
}

}  // namespace tpurun
