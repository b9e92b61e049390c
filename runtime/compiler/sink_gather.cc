#include "runtime/compiler/sink_gather.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/compiler/replication.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/ir/collectives.h"
#include "runtime/ir/structural.h"

namespace tpurun {
namespace {

// A row of the table is read so many times or more, on average. The first product would gain from
// fewer; those with s are of f32, which have about half the speed of bf16 (AVX-512 with bf16).
constexpr int64_t kLeastReads = 4;
// E. (lstm_bench has 128 columns: instead of 18 ms of worker time for the products, the sums take
// 1.6, with AVX-512. Fewer than 64 were not measured.)
constexpr int64_t kLeastColumns = 64;
// Attribute `precision` of a product.
constexpr int64_t kDefault = 0, kF32 = 3;

// Rows (N, E) of a table (V, E) by ids of any dimensions.
struct Rows {
  Value table, ids;
  const Node* gather;
};

class Sink {
 public:
  // `marked` is the graph with marks of the variables that differ between cores.
  Sink(const Graph& graph, const Graph& marked, const PassOps& ops)
      : old_(graph), marked_(marked), ops_(ops), rewrite_(graph), reads_(CountReads(graph)) {
    readers_.resize(graph.nodes().size());
    for (const Node& node : graph.nodes()) {
      for (const Value input : node.inputs) readers_[input.node] = &node;
    }
  }

  absl::StatusOr<Graph> Run() {
    for (const Node& node : old_.nodes()) {
      ASSIGN_OR_RETURN(const Value value, Replaced(node));
      if (value.valid()) {
        rewrite_.Map(node, value.node);
      } else {
        RETURN_IF_ERROR(rewrite_.Copy(node));
      }
    }
    return rewrite_.Finish();
  }

 private:
  // The gradient of a table or of weights: a product of sums of d by id.
  struct Gradient {
    Value ids, d;
    int64_t rows = 0;  // V
    bool is_of_table = false;
    Value other;  // w of a gradient of the table, the table of one of w
    const Node* product = nullptr;
  };

  // The name and the origins of what a new node belongs to.
  struct Place {
    std::string name;
    Origins origins;
  };

  // The value of the new graph that replaces the node's only result, or invalid.
  absl::StatusOr<Value> Replaced(const Node& node) {
    if (const Node* const product = SunkProduct(node)) return SunkGather(node, *product);
    if (const auto gradient = GradientAt(node)) return ProductOfSums(node, *gradient, nullptr);
    const Node* const local = LocalGradient(node);
    return local == nullptr ? Value{} : ProductOfSums(*local, *GradientAt(*local), &node);
  }

  static bool IsPlain(const Node& node, const OpDef* op) {
    return node.op == op && !node.attrs.Has(kBatchDims) && !node.attrs.Has(kStoredIn);
  }
  bool IsVariable(Value value) const { return old_.node(value).op == &VariableOp(); }
  const Node& BehindReshapes(Value value) const {
    while (old_.node(value).op == ops_.reshape) value = old_.node(value).inputs[0];
    return old_.node(value);
  }
  // The same, or nullptr if anything else reads a node on the way or the one behind.
  const Node* OnlyReadBehindReshapes(Value value) const {
    for (;; value = old_.node(value).inputs[0]) {
      if (reads_[value.node] != 1) return nullptr;
      if (old_.node(value).op != ops_.reshape) return &old_.node(value);
    }
  }

  // The node that alone reads the results of `node`, or nullptr.
  const Node* OnlyReader(const Node& node) const {
    return reads_[node.id] == 1 ? readers_[node.id] : nullptr;
  }

  // A product of two matrices, without a bias.
  bool IsProduct(const Node& node, bool transpose_x, bool transpose_y) const {
    return IsPlain(node, ops_.matmul) && node.inputs.size() == 2 &&
           node.attrs.Get<bool>("transpose_x") == transpose_x &&
           node.attrs.Get<bool>("transpose_y") == transpose_y;
  }
  // The other precisions sum products of parts of d and w: their sums by id have other parts.
  static bool HasOnePart(const Node& product) {
    const int64_t precision = product.attrs.Int("precision");
    return precision == kDefault || precision == kF32;
  }

  // Of a table (V, E).
  static bool IsWorthwhile(const Shape& table, const Shape& ids) {
    return table.dims[1] >= kLeastColumns && ids.num_elements() >= kLeastReads * table.dims[0];
  }

  std::optional<Rows> RowsAt(Value x) const {
    const Node& gather = BehindReshapes(x);
    if (!IsPlain(gather, ops_.gather) || !IsVariable(gather.inputs[0])) return std::nullopt;
    const Rows rows{gather.inputs[0], gather.inputs[1], &gather};
    const Shape &table = old_.shape(rows.table), &of_x = old_.shape(x);
    const bool has_whole_rows =
        table.rank() == 2 && of_x.rank() == 2 && of_x.dims[1] == table.dims[1];
    if (!has_whole_rows || !IsWorthwhile(table, old_.shape(rows.ids))) return std::nullopt;
    return rows;
  }

  // The product that the node is, or to which it adds a bias, if it is one of a table's rows; else
  // nullptr.
  const Node* SunkProduct(const Node& node) const {
    const Node* product = &node;
    if (node.op->rules.adds_bias) {
      product = &old_.node(node.inputs[0]);
      if (reads_[product->id] != 1) return nullptr;
    } else if (const Node* const reader = OnlyReader(node); reader != nullptr &&
                                                            reader->op->rules.adds_bias &&
                                                            reader->inputs[0].node == node.id) {
      return nullptr;
    }
    const bool sinks = IsProduct(*product, false, false) && RowsAt(product->inputs[0]) &&
                       !node.attrs.Has(kStoredIn);
    return sinks ? product : nullptr;
  }

  std::optional<Gradient> GradientAt(const Node& node) const {
    if (IsProduct(node, true, false) && HasOnePart(node)) {
      const auto rows = RowsAt(node.inputs[0]);
      if (!rows || !IsF32(node.inputs[1])) return std::nullopt;
      return Gradient{.ids = rows->ids,
                      .d = node.inputs[1],
                      .rows = old_.shape(rows->table).dims[0],
                      .other = rows->table,
                      .product = &node};
    }
    if (!IsPlain(node, ops_.scatter_add)) return std::nullopt;
    const Node* const product = OnlyReadBehindReshapes(node.inputs[1]);
    if (product == nullptr || !IsProduct(*product, false, true) || !HasOnePart(*product) ||
        !IsF32(product->inputs[0]) || !IsVariable(product->inputs[1]) ||
        node.shapes[0].rank() != 2 || node.shapes[0].dims[1] != product->shapes[0].dims[1] ||
        !IsWorthwhile(node.shapes[0], old_.shape(node.inputs[0]))) {
      return std::nullopt;
    }
    return Gradient{.ids = node.inputs[0],
                    .d = product->inputs[0],
                    .rows = node.shapes[0].dims[0],
                    .is_of_table = true,
                    .other = product->inputs[1],
                    .product = product};
  }

  bool IsF32(Value value) const { return old_.shape(value).dtype == DType::kF32; }

  // The gradient whose sum over all replicas the node is, if nothing else reads it, its other
  // factor is the same on all of them and s is not larger than both gradients; else nullptr.
  const Node* LocalGradient(const Node& node) const {
    if (node.op != &CrossReplicaSumOp() || node.attrs.Has("groups")) return nullptr;
    const Node& local = old_.node(node.inputs[0]);
    if (reads_[local.id] != 1) return nullptr;
    const auto gradient = GradientAt(local);
    if (!gradient) return nullptr;
    const Shape& other = old_.shape(gradient->other);
    const int64_t words = gradient->rows, columns = old_.shape(gradient->d).dims[1];
    const int64_t inner = other.dims[gradient->is_of_table ? 0 : 1];
    if (words * columns > inner * (words + columns)) return nullptr;
    const int variable = marked_.FindVariable(old_.node(gradient->other).attrs.String("variable"));
    return marked_.variables()[variable].per_core ? nullptr : &local;
  }

  static Place PlaceOf(const Node& node) { return {node.name, node.origins}; }

  absl::StatusOr<Value> Add(const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                            const Place& of, const std::string& name) {
    return rewrite_.graph.AddNode(op, std::move(inputs), std::move(attrs), name, of.origins);
  }

  absl::StatusOr<Value> Reshaped(Value value, std::vector<int64_t> dims, const Place& of) {
    if (rewrite_.graph.shape(value).dims == dims) return value;
    return Add(*ops_.reshape, {value}, {{"dims", std::move(dims)}}, of, of.name + "/rows");
  }

  // (table w + bias)[ids] for `node`, which is the product or adds a bias to it.
  absl::StatusOr<Value> SunkGather(const Node& node, const Node& product) {
    const Rows rows = *RowsAt(product.inputs[0]);
    const std::vector<Value> factors = {rewrite_.At(rows.table), rewrite_.At(product.inputs[1])};
    ASSIGN_OR_RETURN(Value value,
                     Add(*product.op, factors, product.attrs, PlaceOf(product), product.name));
    if (&node != &product) {
      ASSIGN_OR_RETURN(value, Add(*node.op, {value, rewrite_.At(node.inputs[1])}, node.attrs,
                                  PlaceOf(node), node.name));
    }
    ASSIGN_OR_RETURN(value, Add(*ops_.gather, {value, rewrite_.At(rows.ids)}, {},
                                PlaceOf(*rows.gather), rows.gather->name));
    return Reshaped(value, node.shapes[0].dims, PlaceOf(node));
  }

  // The product with the sums of d by id instead of `node`; or, with `sum`, instead of that sum of
  // `node` over all replicas.
  absl::StatusOr<Value> ProductOfSums(const Node& node, const Gradient& gradient, const Node* sum) {
    // Its sum over all replicas is computed instead.
    const Node* const reader = OnlyReader(node);
    if (sum == nullptr && reader != nullptr && LocalGradient(*reader) == &node) return Value{};
    const Place place{.name = sum == nullptr ? node.name : sum->name,
                      .origins = Union(Union(node.origins, gradient.product->origins),
                                       sum == nullptr ? Origins{} : sum->origins)};
    const bool rounds = gradient.product->attrs.Int("precision") == kDefault;
    ASSIGN_OR_RETURN(const Value sums, SumsById(gradient, rounds, place, sum != nullptr));
    ASSIGN_OR_RETURN(const Value other, Rounded(rewrite_.At(gradient.other), rounds, place));
    Attrs attrs = gradient.product->attrs;
    attrs.Set("precision", kF32);
    return Add(
        *gradient.product->op,
        gradient.is_of_table ? std::vector<Value>{sums, other} : std::vector<Value>{other, sums},
        std::move(attrs), place, place.name);
  }

  // s (V, W).
  absl::StatusOr<Value> SumsById(const Gradient& gradient, bool rounds, const Place& of,
                                 bool over_replicas) {
    const Shape& ids = old_.shape(gradient.ids);
    Value& sums = sums_[{gradient.ids, gradient.d, gradient.rows, rounds}];
    if (sums.valid()) {
      rewrite_.graph.AddOrigins(sums.node, of.origins);
    } else {
      std::vector<int64_t> dims = ids.dims;
      dims.push_back(old_.shape(gradient.d).dims[1]);
      ASSIGN_OR_RETURN(Value d, Reshaped(rewrite_.At(gradient.d), std::move(dims), of));
      ASSIGN_OR_RETURN(d, Rounded(d, rounds, of));
      ASSIGN_OR_RETURN(sums, Add(*ops_.scatter_add, {rewrite_.At(gradient.ids), d},
                                 {{"rows", gradient.rows}}, of, of.name + "/sums"));
    }
    if (!over_replicas) return sums;
    Value& of_all = over_replicas_[sums.node];
    if (of_all.valid()) {
      rewrite_.graph.AddOrigins(of_all.node, of.origins);
    } else {
      ASSIGN_OR_RETURN(of_all,
                       Add(CrossReplicaSumOp(), {sums}, {}, of, of.name + "/sums_of_replicas"));
    }
    return of_all;
  }

  // The f32 numbers of a value, at DEFAULT those that a product reads.
  absl::StatusOr<Value> Rounded(Value value, bool rounds, const Place& of) {
    if (!rounds) return value;
    const std::string name = of.name + "/bf16";
    ASSIGN_OR_RETURN(value, Add(ConvertOp(), {value}, {{"dtype", DType::kBF16}}, of, name));
    return Add(ConvertOp(), {value}, {{"dtype", DType::kF32}}, of, name);
  }

  const Graph &old_, &marked_;
  const PassOps& ops_;
  Rewrite rewrite_;
  const std::vector<int> reads_;
  std::vector<const Node*> readers_;  // [node]: the last one
  // By ids, d, V and whether d is rounded.
  std::map<std::tuple<Value, Value, int64_t, bool>, Value> sums_;
  std::map<int, Value> over_replicas_;  // by the node of the sums
};

}  // namespace

absl::StatusOr<Graph> SinkGather(const Graph& graph, const PassOps& ops) {
  const auto gathers = [&](const Node& node) { return node.op == ops.gather; };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), gathers)) return graph;
  ASSIGN_OR_RETURN(const Graph marked, MarkPerCoreVariables(graph));
  return Sink(graph, marked, ops).Run();
}

}  // namespace tpurun
