#include "runtime/tpu/tpu_program.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/compiler/cse.h"
#include "runtime/compiler/dead_code.h"
#include "runtime/compiler/fold.h"
#include "runtime/compiler/rewrite.h"
#include "runtime/compiler/simplify.h"
#include "runtime/ir/structural.h"
#include "runtime/ir/tpu_stages.h"

namespace tpurun {
namespace {

// A value of the graph, or a temporary of a node's work.
struct TpuArray {
  Shape shape;
  int node = -1;
  int writer = -1;         // stage; -1: it exists before the step
  std::vector<int> users;  // stages
  bool image = false;
  bool output = false;
  int updated = -1;  // the array of the variable of which it is the new value
};

struct StageOfNode {
  TpuStage stage;
  int node = -1;
  bool collective = false;
  bool rounds = false;                            // its products round their operands to bf16
  std::vector<int> reads, partial_reads, writes;  // arrays
  // How it is fused: into the products of an earlier stage, or into all its users.
  int product = -1;
  bool into_users = false;
};

struct Fused {
  std::set<int> stages;
  std::set<int> reads, partial_reads;  // arrays
};

class Fusion {
 public:
  explicit Fusion(const Graph& graph) : graph_(graph) {}

  void Flatten();
  void SumInLoops();
  void FuseWithProducts();
  void FuseIntoUsers();
  void StoreInBFloat16(bool activations);
  void Emit(TpuProgram& program);

 private:
  int AddArray(const Shape& shape, int node);
  int ArrayOf(Value value) const { return arrays_of_[value.node][value.result]; }
  void FlattenNode(const Node& node);
  void MarkImages();
  int64_t SummingSteps(int array, int64_t rows) const;
  std::vector<int> TemporariesOf(const Node& node, const TpuWork& work);
  bool IsLoop(int stage) const {
    const StageOfNode& of = stages_[stage];
    return of.stage.kind == TpuStage::Kind::kLoop && !of.collective && of.writes.size() == 1;
  }
  bool LeavesStep(int array) const { return arrays_[array].output || arrays_[array].updated >= 0; }
  // The stage and what is fused into it, and the arrays in memory that they read.
  void Collect(int stage, Fused& fused) const;
  bool IsCheap(int stage) const;
  bool IsActivation(const TpuArray& array) const;
  int BufferOf(int array, TpuProgram& program);

  const Graph& graph_;
  std::vector<TpuArray> arrays_;
  std::vector<std::vector<int>> arrays_of_;  // [node][result]
  std::map<int, std::vector<int>> kept_;     // [node]: arrays of kept temporaries
  std::map<std::string, int> variables_;     // arrays by name
  std::vector<StageOfNode> stages_;
  std::map<int, int> buffers_;  // by array
};

int Fusion::AddArray(const Shape& shape, int node) {
  arrays_.push_back({.shape = {shape.dtype, shape.dims}, .node = node});
  return static_cast<int>(arrays_.size()) - 1;
}

// A temporary that no stage writes is one that the node keeps whose gradient this is, or operand 0.
std::vector<int> Fusion::TemporariesOf(const Node& node, const TpuWork& work) {
  std::set<int> written;
  for (const TpuStage& stage : work.stages) {
    for (const TpuStage::Array& array : stage.writes) {
      if (array.of == TpuStage::Array::Of::kTemporary) written.insert(array.index);
    }
  }
  std::vector<int> temporaries;
  for (int i = 0; i < static_cast<int>(work.temporaries.size()); ++i) {
    if (written.count(i) > 0) {
      temporaries.push_back(AddArray(work.temporaries[i], node.id));
      continue;
    }
    int array = ArrayOf(node.inputs[0]);
    for (const Value input : node.inputs) {
      const auto kept = kept_.find(input.node);
      if (work.kept == 0 && kept != kept_.end()) array = kept->second.at(i);
    }
    temporaries.push_back(array);
  }
  if (work.kept > 0) kept_[node.id] = {temporaries.begin(), temporaries.begin() + work.kept};
  return temporaries;
}

void Fusion::FlattenNode(const Node& node) {
  std::vector<int>& results = arrays_of_[node.id];
  if (node.op->flags.source) {
    if (node.op == &VariableOp()) {
      const std::string& name = node.attrs.String("variable");
      const auto [found, added] = variables_.emplace(name, 0);
      if (added) found->second = AddArray(node.shapes[0], node.id);
      results = {found->second};
    } else {
      results = {AddArray(node.shapes[0], node.id)};
    }
    return;
  }
  OpCall call = CallOfNode(graph_, node);
  const TpuWork work = TpuWorkOf(call);
  if (work.stages.empty()) {
    results = {ArrayOf(node.inputs[0])};
    return;
  }
  for (const Shape& shape : node.shapes) results.push_back(AddArray(shape, node.id));
  const std::vector<int> temporaries = TemporariesOf(node, work);
  const auto find = [&](const TpuStage::Array& array) {
    switch (array.of) {
      case TpuStage::Array::Of::kOperand:
        return ArrayOf(node.inputs[array.index]);
      case TpuStage::Array::Of::kResult:
        return results[array.index];
      case TpuStage::Array::Of::kTemporary:
        return temporaries[array.index];
    }
    return -1;
  };
  for (const TpuStage& stage : work.stages) {
    const int id = static_cast<int>(stages_.size());
    StageOfNode of{.stage = stage, .node = node.id, .collective = node.op->flags.collective};
    of.rounds = OpFlagsOf(call).rounds != 0;
    for (const auto& [from, to] :
         {std::pair{&stage.reads, &of.reads}, std::pair{&stage.partial_reads, &of.partial_reads}}) {
      for (const TpuStage::Array& array : *from) {
        const int read = find(array);
        if (std::count(to->begin(), to->end(), read) > 0) continue;
        to->push_back(read);
        arrays_[read].users.push_back(id);
      }
    }
    for (const TpuStage::Array& array : stage.writes) {
      const int written = find(array);
      of.writes.push_back(written);
      arrays_[written].writer = id;
    }
    for (const TpuStage::Array& array : stage.images) arrays_[find(array)].image = true;
    stages_.push_back(std::move(of));
  }
}

// What is computed element by element of an image, or read so by a convolution, is one too.
void Fusion::MarkImages() {
  const auto mark = [&](const StageOfNode& of) {
    if (of.stage.kind != TpuStage::Kind::kLoop || of.collective) return;
    for (const int written : of.writes) {
      for (const int read : of.reads) {
        if (arrays_[read].shape.dims != arrays_[written].shape.dims) continue;
        const bool image = arrays_[read].image || arrays_[written].image;
        arrays_[read].image = arrays_[written].image = image;
      }
    }
  };
  for (const StageOfNode& of : stages_) mark(of);
  for (auto of = stages_.rbegin(); of != stages_.rend(); ++of) mark(*of);
}

void Fusion::Flatten() {
  arrays_of_.resize(graph_.nodes().size());
  for (const Node& node : graph_.nodes()) FlattenNode(node);
  MarkImages();
  for (const Output& output : graph_.outputs()) arrays_[ArrayOf(output.value)].output = true;
  for (const Update& update : graph_.updates()) {
    const Variable& variable = graph_.variables()[update.variable];
    const auto [found, added] = variables_.emplace(variable.name, 0);
    if (added) found->second = AddArray(variable.shape, -1);
    arrays_[ArrayOf(update.value)].updated = found->second;
  }
}

// The steps of the loop back over time whose result of `rows` rows the array is, or a slice of the
// gates, moved perhaps; 0 if it is none.
int64_t Fusion::SummingSteps(int array, int64_t rows) const {
  while (arrays_[array].writer >= 0) {
    const StageOfNode& of = stages_[arrays_[array].writer];
    const int64_t steps = of.stage.summing_steps;
    if (steps > 0) return arrays_[array].shape.dims[0] * steps == rows ? steps : 0;
    const bool slices = of.reads.empty() && of.partial_reads.size() == 1;
    const bool moves =
        of.stage.kind == TpuStage::Kind::kAlone && of.reads.size() == 1 && of.partial_reads.empty();
    if (!of.stage.products.empty() || of.writes.size() != 1 || !(slices || moves)) break;
    array = slices ? of.partial_reads[0] : of.reads[0];
  }
  return 0;
}

// TensorFlow's loops over time add to the gradients of their kernels in each step, in f32.
void Fusion::SumInLoops() {
  for (StageOfNode& of : stages_) {
    if (of.stage.products.size() != 1 || of.writes.size() != 1) continue;
    TpuProduct& product = of.stage.products[0];
    for (const int read : of.reads) {
      const int64_t steps = SummingSteps(read, product.k);
      if (steps == 0) continue;
      product.count *= static_cast<double>(steps);
      product.k /= steps;
      const double sum =
          static_cast<double>(arrays_[of.writes[0]].shape.num_elements()) * ByteSize(DType::kF32);
      of.stage.extra_bytes += 2 * static_cast<double>(steps) * sum;  // read and written
      break;
    }
  }
}

// Later products first: what an element-wise stage reads besides must have been computed.
void Fusion::FuseWithProducts() {
  for (int i = static_cast<int>(stages_.size()) - 1; i >= 0; --i) {
    if (stages_[i].stage.kind != TpuStage::Kind::kMatrix || stages_[i].writes.size() != 1) continue;
    int array = stages_[i].writes[0];
    while (!LeavesStep(array) && arrays_[array].users.size() == 1) {
      const int user = arrays_[array].users[0];
      const int result = IsLoop(user) ? stages_[user].writes[0] : -1;
      if (result < 0 || stages_[user].product >= 0 ||
          arrays_[result].shape.num_elements() != arrays_[array].shape.num_elements())
        break;
      stages_[user].product = i;
      array = result;
    }
  }
}

void Fusion::Collect(int stage, Fused& fused) const {
  if (!fused.stages.insert(stage).second) return;
  const StageOfNode& of = stages_[stage];
  for (const int read : of.reads) {
    const int writer = arrays_[read].writer;
    if (writer >= 0 && stages_[writer].into_users) {
      Collect(writer, fused);
    } else {
      fused.reads.insert(read);
    }
  }
  fused.partial_reads.insert(of.partial_reads.begin(), of.partial_reads.end());
}

// Worth doing again for each user: no transcendentals, and at most two arrays of its size are read
// in place of its result.
bool Fusion::IsCheap(int stage) const {
  Fused fused;
  Collect(stage, fused);
  for (const int member : fused.stages) {
    if (stages_[member].stage.transcendentals > 0) return false;
  }
  const int64_t elements = arrays_[stages_[stage].writes[0]].shape.num_elements();
  return std::count_if(fused.reads.begin(), fused.reads.end(), [&](int read) {
           return 8 * arrays_[read].shape.num_elements() >= elements;
         }) <= 2;
}

void Fusion::FuseIntoUsers() {
  for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
    if (!IsLoop(i) || stages_[i].product >= 0) continue;
    const int array = stages_[i].writes[0];
    const std::vector<int>& users = arrays_[array].users;
    if (LeavesStep(array) || users.empty()) continue;
    const bool fusable = std::all_of(users.begin(), users.end(), [&](int user) {
      const StageOfNode& of = stages_[user];
      const bool reads_all = std::count(of.reads.begin(), of.reads.end(), array) > 0;
      return reads_all && !of.collective &&
             (of.stage.kind == TpuStage::Kind::kLoop || of.stage.kind == TpuStage::Kind::kReduce);
    });
    stages_[i].into_users = fusable && (users.size() == 1 || IsCheap(i));
  }
}

bool IsOfLayers(const Node& node) {
  return std::all_of(node.origins.begin(), node.origins.end(), [](const NodeOrigin& origin) {
    return origin.phase == NodeOrigin::Phase::kForward ||
           origin.phase == NodeOrigin::Phase::kBackward;
  });
}

// Of examples, and read by layers alone: the gradient of a variable is read by its update.
bool Fusion::IsActivation(const TpuArray& array) const {
  return array.shape.rank() > 1 && IsOfLayers(graph_.nodes()[array.node]) &&
         std::all_of(array.users.begin(), array.users.end(), [&](int user) {
           return !stages_[user].collective && IsOfLayers(graph_.nodes()[stages_[user].node]);
         });
}

void Fusion::StoreInBFloat16(bool activations) {
  for (TpuArray& array : arrays_) {
    if (array.shape.dtype != DType::kF32 || array.writer < 0 || array.output ||
        array.updated >= 0 || array.users.empty())
      continue;
    const bool rounded = std::all_of(array.users.begin(), array.users.end(), [&](int user) {
      return stages_[user].stage.kind == TpuStage::Kind::kMatrix && stages_[user].rounds;
    });
    if (rounded || (activations && IsActivation(array))) array.shape.dtype = DType::kBF16;
  }
}

// Of an image batch and features are minor, the features on the lanes if both pad alike, as in
// f32[32,128,32,64]{3,0,2,1} of tensorflow#30803.
TiledLayout LayoutOf(const TpuArray& array) {
  if (!array.image || array.shape.rank() != 4) return CheapestLayout(array.shape);
  const TiledLayout features{{3, 0, 2, 1}}, batch{{0, 3, 2, 1}};
  return PaddedTpuBytes(array.shape, batch) < PaddedTpuBytes(array.shape, features) ? batch
                                                                                    : features;
}

int Fusion::BufferOf(int array, TpuProgram& program) {
  const auto [found, added] = buffers_.emplace(array, static_cast<int>(program.buffers.size()));
  if (!added) return found->second;
  const TpuArray& of = arrays_[array];
  TpuBuffer buffer{.shape = of.shape, .layout = LayoutOf(of), .node = of.node};
  if (of.updated >= 0) {
    buffer.kind = TpuBuffer::Kind::kUpdate;
  } else if (of.output) {
    buffer.kind = TpuBuffer::Kind::kOutput;
  }
  program.buffers.push_back(std::move(buffer));
  return found->second;
}

int64_t LargestRead(const TpuComputation& computation, const TpuProgram& program) {
  int64_t largest = 0;
  for (const int read : computation.reads)
    largest = std::max(largest, program.buffers[read].shape.num_elements());
  return largest;
}

// The earlier reduction that reads an array as large as the largest that `computation` reads, and
// before which all exists that this one reads; or the end: a computation of its own.
int SiblingOf(const TpuComputation& computation, const TpuProgram& program) {
  constexpr int kFarthest = 16;
  const int end = static_cast<int>(program.computations.size());
  if (computation.kind != TpuStage::Kind::kReduce || computation.collective ||
      !computation.partial_reads.empty())
    return end;
  const int64_t largest = LargestRead(computation, program);
  int sibling = end;
  for (int i = end - 1; i >= std::max(0, end - kFarthest); --i) {
    const TpuComputation& other = program.computations[i];
    const bool exist = std::all_of(computation.reads.begin(), computation.reads.end(),
                                   [&](int read) { return program.buffers[read].first < i; });
    if (!exist) break;
    if (other.kind != TpuStage::Kind::kReduce || other.collective) continue;
    const bool shares =
        std::any_of(computation.reads.begin(), computation.reads.end(), [&](int read) {
          return program.buffers[read].shape.num_elements() == largest &&
                 std::count(other.reads.begin(), other.reads.end(), read) > 0;
        });
    if (shares && LargestRead(other, program) == largest) sibling = i;
  }
  return sibling;
}

// Adds the computation at the end, or to an earlier one that reads the same.
void Place(TpuComputation computation, TpuProgram& program) {
  const int id = SiblingOf(computation, program);
  for (const std::vector<int>& reads : {computation.reads, computation.partial_reads}) {
    for (const int read : reads)
      program.buffers[read].last = std::max(program.buffers[read].last, id);
  }
  for (const int written : computation.writes) program.buffers[written].first = id;
  if (id == static_cast<int>(program.computations.size())) {
    program.computations.push_back(std::move(computation));
    return;
  }
  TpuComputation& sibling = program.computations[id];
  for (const int read : computation.reads) {
    if (std::count(sibling.reads.begin(), sibling.reads.end(), read) == 0)
      sibling.reads.push_back(read);
  }
  for (const auto& [from, to] : {std::pair{&computation.writes, &sibling.writes},
                                 std::pair{&computation.nodes, &sibling.nodes}})
    to->insert(to->end(), from->begin(), from->end());
  sibling.vector_flops += computation.vector_flops;
  sibling.transcendentals += computation.transcendentals;
  sibling.extra_bytes += computation.extra_bytes;
}

void Fusion::Emit(TpuProgram& program) {
  for (const auto& [name, array] : variables_) {
    program.buffers[BufferOf(array, program)].kind = TpuBuffer::Kind::kArgument;
  }
  // The last stage that is fused into products writes their result.
  std::map<int, std::vector<int>> epilogues;
  for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
    if (stages_[i].product >= 0) epilogues[stages_[i].product].push_back(i);
  }
  for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
    int root = i;  // the stage that gives the computation its kind
    if (stages_[i].into_users) continue;
    if (stages_[i].product >= 0) {
      root = stages_[i].product;
      if (epilogues[root].back() != i) continue;
    } else if (epilogues.count(i) > 0) {
      continue;
    }
    Fused fused;
    for (const int stage : epilogues[root]) Collect(stage, fused);
    Collect(root, fused);
    TpuComputation computation{.kind = stages_[root].stage.kind,
                               .collective = stages_[root].collective,
                               .nodes = {stages_[root].node},
                               .products = stages_[root].stage.products,
                               .iterations = stages_[root].stage.iterations};
    for (const int member : fused.stages) {
      const StageOfNode& of = stages_[member];
      computation.vector_flops += of.stage.vector_flops;
      computation.transcendentals += of.stage.transcendentals;
      computation.extra_bytes += of.stage.extra_bytes;
      if (std::count(computation.nodes.begin(), computation.nodes.end(), of.node) == 0)
        computation.nodes.push_back(of.node);
      if (member != i) {
        for (const int inside : of.writes) fused.reads.erase(inside);
      }
    }
    for (const int read : fused.reads) computation.reads.push_back(BufferOf(read, program));
    for (const int read : fused.partial_reads) {
      if (fused.reads.count(read) == 0)
        computation.partial_reads.push_back(BufferOf(read, program));
    }
    for (const int written : stages_[i].writes)
      computation.writes.push_back(BufferOf(written, program));
    Place(std::move(computation), program);
  }
}

}  // namespace

absl::StatusOr<TpuProgram> MakeTpuProgram(const Graph& graph, const TpuProgramOptions& options) {
  TpuProgram program{.graph = graph};
  for (const auto pass :
       {RemoveDeadCode, FoldConstants, Simplify, MergeEqualNodes, RemoveDeadCode}) {
    ASSIGN_OR_RETURN(program.graph, pass(program.graph));
  }
  Fusion fusion(program.graph);
  fusion.Flatten();
  fusion.SumInLoops();
  fusion.FuseWithProducts();
  fusion.FuseIntoUsers();
  fusion.StoreInBFloat16(options.bf16_activations);
  fusion.Emit(program);
  return program;
}

}  // namespace tpurun
