// A TensorFlow graph with the functions of its library: which nodes are needed to compute tensors,
// and which values are known before the graph runs.
#ifndef TPURUN_CLI_MODEL_GRAPH_H_
#define TPURUN_CLI_MODEL_GRAPH_H_

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/graph.pb.h"

namespace tpurun {

class ModelGraph {
 public:
  // A node of the graph or of a function, or an argument of a function. Vertices are named by
  // numbers.
  struct Vertex {
    const tensorflow::NodeDef* node = nullptr;  // nullptr for an argument
    int body = 0;                               // 0 is the graph, the others are functions
    std::vector<int> inputs = {};               // the operands in their order
    std::vector<int> controls = {};
  };
  // True for each vertex of a set. Vertices after the end are not in it.
  using Set = std::vector<bool>;

  // `graph` must outlive the result. DataLoss if nodes of the graph have one name or inputs that
  // are not there.
  static absl::StatusOr<ModelGraph> Create(const tensorflow::GraphDef& graph);

  const Vertex& vertex(int index) const { return vertices_[index]; }
  // Vertices of the graph come first, in its order. Functions are added when Reach finds that they
  // are called.
  int num_vertices() const { return static_cast<int>(vertices_.size()); }
  int num_nodes_of_graph() const { return nodes_of_graph_; }
  // The name of the function that has the vertex; empty for the graph itself.
  std::string FunctionOf(int vertex) const;

  // The node of the graph that has the tensor "x:0" or the name "x" or "^x"; -1 if there is none.
  int Find(std::string_view tensor) const;

  // Whether the library has a function of this name.
  bool HasFunction(const std::string& name) const { return functions_.count(name) > 0; }
  // The nodes that a call of the function runs. DataLoss as in Create.
  absl::StatusOr<std::vector<int>> NodesOfFunction(const std::string& name);

  // The vertices that run if `roots` are computed, roots included: their inputs, control inputs and
  // what the functions compute that they call. The inputs of those in `fed` are not needed.
  // DataLoss if a function is called that the library lacks, or as in Create for a function.
  absl::StatusOr<Set> Reach(const std::vector<int>& roots, const Set& fed);

  // Of the vertices in `reached`, those whose values are not known when the graph is compiled: they
  // depend on what is fed, on variables, on random numbers or on the number of an iteration. Shapes
  // are known.
  Set Varying(const Set& reached, const Set& fed) const;

 private:
  struct Body {
    const tensorflow::FunctionDef* function = nullptr;
    std::unordered_map<std::string_view, int> names = {};  // vertices
    std::vector<int> args = {};
    std::vector<int> results = {};
    std::vector<int> roots = {};  // what a call computes
  };
  struct Call {
    int body = 0;
    int first_operand = 0;  // the operand for the first argument; -1 if it is not known
    bool is_loop = false;   // arguments are also the results of the iteration before
    bool is_loop_body = false;
  };

  ModelGraph() = default;
  absl::Status AddNodes(const google::protobuf::RepeatedPtrField<tensorflow::NodeDef>& nodes,
                        int body);
  absl::StatusOr<int> BodyOf(const std::string& function);
  absl::Status AddCalls(int vertex);
  struct Flow;
  void AddFlow(int vertex, Flow& flow) const;
  void AddCallFlow(int vertex, const std::vector<Call>& calls, Flow& flow) const;

  std::deque<Vertex> vertices_;
  std::deque<Body> bodies_;
  std::unordered_map<std::string, const tensorflow::FunctionDef*> functions_;
  std::unordered_map<std::string, int> body_of_;
  std::map<int, std::vector<Call>> calls_;  // of the vertices that were reached
  int nodes_of_graph_ = 0;
};

}  // namespace tpurun

#endif  // TPURUN_CLI_MODEL_GRAPH_H_
