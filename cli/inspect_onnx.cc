// `inspect` of an ONNX file: its metadata, inputs, outputs, initializers and ops. Source: the ONNX
// project's docs/IR.md.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/config/read_message.h"
#include "cli/inspect.h"
#include "proto/onnx.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using onnx::TensorProto;

// The name of the default domain.
constexpr char kDefaultDomain[] = "ai.onnx";

std::string OnnxTypeName(int type) {
  if (!TensorProto::DataType_IsValid(type)) return absl::StrCat("dtype ", type);
  return DTypeName(TensorProto::DataType_Name(static_cast<TensorProto::DataType>(type)));
}

// Of an element; 0 where that is not known.
int BitsOf(int type) {
  switch (type) {
    case TensorProto::UINT4:
    case TensorProto::INT4:
      return 4;
    case TensorProto::BOOL:
    case TensorProto::UINT8:
    case TensorProto::INT8:
    case TensorProto::FLOAT8E4M3FN:
    case TensorProto::FLOAT8E4M3FNUZ:
    case TensorProto::FLOAT8E5M2:
    case TensorProto::FLOAT8E5M2FNUZ:
      return 8;
    case TensorProto::UINT16:
    case TensorProto::INT16:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return 16;
    case TensorProto::FLOAT:
    case TensorProto::UINT32:
    case TensorProto::INT32:
      return 32;
    case TensorProto::DOUBLE:
    case TensorProto::UINT64:
    case TensorProto::INT64:
    case TensorProto::COMPLEX64:
      return 64;
    case TensorProto::COMPLEX128:
      return 128;
    default:
      return 0;
  }
}

// A list of sizes, of the names of those that have one, and of -1; null of an unknown rank.
Json ShapeOf(const onnx::TypeProto::Tensor& type) {
  if (!type.has_shape()) return nullptr;
  Json dims = Json::array();
  for (const auto& dim : type.shape().dim()) {
    if (dim.has_dim_value()) {
      dims.push_back(dim.dim_value());
    } else if (dim.dim_param().empty()) {
      dims.push_back(-1);
    } else {
      dims.push_back(dim.dim_param());
    }
  }
  return dims;
}

// "float32", "seq(map(int64,float32))".
std::string TypeName(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return OnnxTypeName(type.tensor_type().elem_type());
    case onnx::TypeProto::kSparseTensorType:
      return absl::StrCat("sparse(", OnnxTypeName(type.sparse_tensor_type().elem_type()), ")");
    case onnx::TypeProto::kSequenceType:
      return absl::StrCat("seq(", TypeName(type.sequence_type().elem_type()), ")");
    case onnx::TypeProto::kOptionalType:
      return absl::StrCat("optional(", TypeName(type.optional_type().elem_type()), ")");
    case onnx::TypeProto::kMapType:
      return absl::StrCat("map(", OnnxTypeName(type.map_type().key_type()), ",",
                          TypeName(type.map_type().value_type()), ")");
    default:
      return "undefined";
  }
}

Json ValueRow(const std::string& kind, const onnx::ValueInfoProto& info) {
  const onnx::TypeProto& type = info.type();
  Json shape;
  if (type.has_tensor_type()) shape = ShapeOf(type.tensor_type());
  if (type.has_sparse_tensor_type()) shape = ShapeOf(type.sparse_tensor_type());
  Json row = {{"kind", kind}, {"name", info.name()}, {"dtype", TypeName(type)}, {"shape", shape}};
  if (!info.doc_string().empty()) row["note"] = JsonBytes(info.doc_string());
  return row;
}

// ---- Initializers ----

using Dims = google::protobuf::RepeatedField<int64_t>;

absl::Status Damaged(const TensorProto& tensor, const std::string& what) {
  return absl::DataLossError(absl::StrCat("initializer ", Quote(tensor.name()), ": ", what));
}

// Nothing where the number of bytes is not known.
absl::StatusOr<std::optional<int64_t>> BytesOf(const TensorProto& tensor) {
  const std::optional<int64_t> elements = NumElements(tensor.dims());
  int64_t bits = 0;
  if (!elements.has_value() ||
      __builtin_mul_overflow(*elements, BitsOf(tensor.data_type()), &bits)) {
    return Damaged(tensor, absl::StrCat("bad shape [", absl::StrJoin(tensor.dims(), ","), "]"));
  }
  if (tensor.data_type() == TensorProto::STRING) {
    int64_t bytes = 0;
    for (const std::string& text : tensor.string_data()) bytes += static_cast<int64_t>(text.size());
    return bytes;
  }
  if (BitsOf(tensor.data_type()) == 0) return std::optional<int64_t>();
  const int64_t bytes = bits / 8 + (bits % 8 > 0);
  const auto raw_bytes = static_cast<int64_t>(tensor.raw_data().size());
  const bool here = tensor.has_raw_data() && tensor.data_location() != TensorProto::EXTERNAL;
  if (here && raw_bytes != bytes) {
    return Damaged(tensor, absl::StrCat("got ", raw_bytes, " bytes, want ", bytes, " for ",
                                        OnnxTypeName(tensor.data_type()), " [",
                                        absl::StrJoin(tensor.dims(), ","), "]"));
  }
  return bytes;
}

// Appends the row of an initializer of the shape `dims` whose values are in `tensors`.
absl::Status AddInitializer(const Dims& dims, const std::vector<const TensorProto*>& tensors,
                            std::vector<Json>& rows, TensorTotals& totals) {
  const TensorProto& values = *tensors.front();
  const std::string dtype = OnnxTypeName(values.data_type());
  Json bytes;
  for (const TensorProto* tensor : tensors) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> known, BytesOf(*tensor));
    totals.Add(tensor == &values ? dtype : "int64", *NumElements(tensor->dims()),
               known.value_or(0));
    if (known.has_value()) bytes = (bytes.is_null() ? 0 : bytes.get<int64_t>()) + *known;
  }
  rows.push_back({{"kind", "initializer"},
                  {"name", values.name()},
                  {"dtype", dtype},
                  {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                  {"bytes", bytes}});
  return absl::OkStatus();
}

// Writes those before damage too.
absl::Status WriteInitializers(const onnx::GraphProto& graph, RowWriter& rows,
                               TensorTotals& totals) {
  std::vector<Json> initializers;
  absl::Status status;
  for (const TensorProto& tensor : graph.initializer()) {
    if (status.ok()) status = AddInitializer(tensor.dims(), {&tensor}, initializers, totals);
  }
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
    if (!status.ok()) break;
    status =
        AddInitializer(sparse.dims(), {&sparse.values(), &sparse.indices()}, initializers, totals);
  }
  rows.Table({{"kind"}, {"name"}, {"dtype"}, {"shape"}, {"bytes", true}}, initializers);
  return status;
}

// ---- Ops ----

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// With those of the graphs that are attributes, the branches of If and bodies of Loop.
void CountOps(const Nodes& nodes, std::map<std::string, int64_t>& ops) {
  for (const onnx::NodeProto& node : nodes) {
    const bool plain = node.domain().empty() || node.domain() == kDefaultDomain;
    ++ops[plain ? node.op_type() : absl::StrCat(node.domain(), ".", node.op_type())];
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      CountOps(attribute.g().node(), ops);
      for (const onnx::GraphProto& graph : attribute.graphs()) CountOps(graph.node(), ops);
    }
  }
}

// Writes them; returns how many nodes there are.
int64_t WriteOps(const onnx::ModelProto& model, RowWriter& rows) {
  std::map<std::string, int64_t> ops;
  CountOps(model.graph().node(), ops);
  for (const onnx::FunctionProto& function : model.functions()) CountOps(function.node(), ops);
  std::vector<Json> op_rows;
  int64_t nodes = 0;
  for (const auto& [op, count] : ops) {
    op_rows.push_back({{"kind", "op"}, {"op", op}, {"count", count}});
    nodes += count;
  }
  rows.Table({{"op"}, {"count", true}}, op_rows);
  return nodes;
}

void WriteHead(const onnx::ModelProto& model, const std::string& path, RowWriter& rows) {
  std::vector<std::string> opsets;
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    const std::string domain = opset.domain().empty() ? kDefaultDomain : opset.domain();
    rows.Object({{"kind", "opset"}, {"domain", domain}, {"version", opset.version()}});
    opsets.push_back(absl::StrCat(Escape(domain), " ", opset.version()));
  }
  std::string title = absl::StrCat("ONNX file ", Escape(path), ": IR version ", model.ir_version());
  if (!opsets.empty()) absl::StrAppend(&title, ", opset ", absl::StrJoin(opsets, ", "));
  if (!model.producer_name().empty()) {
    absl::StrAppend(&title, ", producer ", Escape(model.producer_name()));
  }
  if (!model.producer_version().empty()) {
    absl::StrAppend(&title, " ", Escape(model.producer_version()));
  }
  rows.Title(title);
  std::vector<Json> metadata, values;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    metadata.push_back({{"kind", "metadata"}, {"key", entry.key()}, {"value", entry.value()}});
  }
  rows.Table({{"kind"}, {"key"}, {"value"}}, metadata);
  for (const auto& input : model.graph().input()) values.push_back(ValueRow("input", input));
  for (const auto& output : model.graph().output()) values.push_back(ValueRow("output", output));
  std::vector<RowColumn> columns = {{"kind"}, {"name"}, {"dtype"}, {"shape"}};
  const bool any_note = std::any_of(values.begin(), values.end(),
                                    [](const Json& row) { return row.contains("note"); });
  if (any_note) columns.push_back({"note"});
  rows.Table(columns, values);
}

}  // namespace

absl::Status InspectOnnx(const std::string& path, bool json, std::ostream& out) {
  onnx::ModelProto model;
  RETURN_IF_ERROR(ReadMessage(path, "ONNX file", model));
  // Opsets follow the graph: a file that ends between the two has none.
  constexpr int kFirstWithOpsets = 3;
  const bool opsets = model.opset_import_size() > 0 || model.ir_version() < kFirstWithOpsets;
  if (!model.has_ir_version() || !model.has_graph() || !opsets) {
    return absl::DataLossError(absl::StrCat(
        path, ": no ONNX file, or a truncated one: it has no ",
        !model.has_ir_version() ? "IR version" : (model.has_graph() ? "opset" : "graph"),
        "; export or copy it again"));
  }
  RowWriter rows(json, out);
  WriteHead(model, path, rows);
  TensorTotals totals;
  const absl::Status initializers = WriteInitializers(model.graph(), rows, totals);
  if (!initializers.ok()) return Annotate(initializers, path);
  const int64_t nodes = WriteOps(model, rows);
  const int64_t count = model.graph().initializer_size() + model.graph().sparse_initializer_size();
  rows.Object({{"kind", "model"},
               {"format", "onnx"},
               {"name", model.graph().name()},
               {"ir_version", model.ir_version()},
               {"producer", model.producer_name()},
               {"producer_version", model.producer_version()},
               {"nodes", nodes},
               {"initializers", count},
               {"parameters", totals.parameters},
               {"bytes", totals.bytes}});
  rows.Title(absl::StrCat("total: ", count, " initializers, ", totals.parameters, " parameters, ",
                          totals.bytes, " bytes, ", nodes, " nodes"));
  return absl::OkStatus();
}

}  // namespace tpurun
