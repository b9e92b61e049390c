// A training step allocates nothing: a run of many steps asks for no more memory than a short one.
// Every call of malloc and operator new in the process counts, but for those that oneDNN makes
// within its execute, which builds a table of its arguments at each call.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

#include "models/model_builder.h"
#include "runtime/compiler/compile.h"
#include "runtime/device/device.h"
#include "runtime/estimator/train_step.h"
#include "runtime/ops/op_list.h"
#include "tests/models/golden_case.h"

namespace {

std::atomic<int64_t> allocations{0};
std::atomic<int64_t> allocations_of_onednn{0};

void Count(const void* caller) {
  Dl_info library;
  const bool onednn =
      dladdr(caller, &library) != 0 && std::strstr(library.dli_fname, "libdnnl") != nullptr;
  (onednn ? allocations_of_onednn : allocations).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// glibc's allocator under its inner names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  Count(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, size_t size) {
  Count(__builtin_return_address(0));
  return __libc_realloc(pointer, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** pointer, size_t alignment, size_t size) {
  Count(__builtin_return_address(0));
  *pointer = __libc_memalign(alignment, size);
  return *pointer == nullptr ? ENOMEM : 0;
}
}

// Replaced too, so that the caller is who asks and not the C++ library.
void* operator new(size_t size) {
  Count(__builtin_return_address(0));
  if (void* const memory = __libc_malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, std::align_val_t alignment) {
  Count(__builtin_return_address(0));
  if (void* const memory = __libc_memalign(static_cast<size_t>(alignment), size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tpurun {
namespace {

constexpr int kLong = 100;
constexpr int64_t kBatchPerCore = 8;
constexpr char kText[] = "models/zoo/shakespeare_lstm/model.textproto";

struct AlignedFree {
  void operator()(std::byte* data) const { ::operator delete(data, std::align_val_t(64)); }
};
using AlignedBytes = std::unique_ptr<std::byte, AlignedFree>;

// All copies of a variable: 0.1 for floats, 0 for whole numbers.
AlignedBytes Filled(const Variable& variable, int num_replicas) {
  const int64_t bytes = Aligned(variable.shape.bytes()) * num_replicas;
  AlignedBytes memory(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64))));
  std::memset(memory.get(), 0, bytes);
  if (variable.shape.dtype != DType::kF32) return memory;
  std::fill_n(reinterpret_cast<float*>(memory.get()), bytes / sizeof(float), 0.1f);
  return memory;
}

// As it is a step of it takes a second: narrower, over fewer characters.
void MakeSmall(proto::ModelSpec& model) {
  model.mutable_feature(0)->set_shape(0, 12);
  model.mutable_label(0)->set_shape(0, 12);
  model.mutable_layer_defaults(0)->mutable_lstm()->set_units(64);
}

absl::StatusOr<CoreProgram> TrainingProgram(const std::string& model_file) {
  std::stringstream text;
  text << std::ifstream(model_file).rdbuf();
  proto::ModelSpec model;
  SourceLocations locations;
  ParseProto(text.str(), "model", &model, &locations);
  if (model_file == kText) MakeSmall(model);
  const absl::StatusOr<ModelFn> model_fn = CheckedModelFn(model, locations);
  if (!model_fn.ok()) return model_fn.status();
  absl::StatusOr<EstimatorSpec> spec =
      (*model_fn)({.topology = kDevice, .batch_per_replica = kBatchPerCore});
  if (!spec.ok()) return spec.status();
  const std::string variable = spec->graph.variables()[spec->optimizers[0].variables[0]].name;
  using Summary = TrainSummary;
  spec->summaries = {
      {.kind = Summary::Kind::kScalar, .source = Summary::Source::kGlobalNorm, .tag = "norm"},
      {.kind = Summary::Kind::kHistogram,
       .source = Summary::Source::kVariable,
       .tag = "variable",
       .name = variable},
      {.kind = Summary::Kind::kHistogram,
       .source = Summary::Source::kGradient,
       .tag = "gradient",
       .name = variable}};
  for (Summary& summary : spec->summaries) summary.every_n_steps = kLong / 4;
  absl::StatusOr<Graph> graph = BuildTrainStep(*std::move(spec));
  if (!graph.ok()) return graph.status();
  return Compile(*std::move(graph), {.ops = OpsOfPasses(), .loss_output = kLossOutput});
}

class AllocationsTest : public testing::TestWithParam<const char*> {};

TEST_P(AllocationsTest, AStepAllocatesNothing) {
  const absl::StatusOr<CoreProgram> program = TrainingProgram(GetParam());
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<AlignedBytes> store;
  std::vector<void*> variables;
  for (const Variable& variable : program->variables) {
    store.push_back(Filled(variable, program->num_replicas));
    variables.push_back(store.back().get());
  }
  // Every batch is zeros, and there before the run begins.
  EntryRing infeed(LayoutOf(program->infeed, program->num_replicas).bytes, kLong, 1);
  EntryRing outfeed(OutfeedEntryBytes(*program), 16, 1);
  const auto device = Device::Create(2);
  const auto loaded = device->Load(*program, variables);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto allocated_in = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      EXPECT_TRUE(infeed.Reserve().ok());
      infeed.Commit();
    }
    const int64_t before = allocations.load();
    const RunResult result =
        device->Run(**loaded, {.iterations = steps, .infeed = &infeed, .outfeed = &outfeed});
    const int64_t after = allocations.load();
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.steps, steps);
    while (outfeed.consumed() < outfeed.committed()) outfeed.Pop();
    return after - before;
  };
  allocated_in(10);  // each worker's first call of a library kernel
  const int64_t short_run = allocated_in(1);
  EXPECT_EQ(allocated_in(kLong), short_run);
  // That the count sees what a run allocates once: the losses that it hands back.
  EXPECT_GE(short_run, 1);
  RecordProperty("of_onednn", std::to_string(allocations_of_onednn.load()));
}

INSTANTIATE_TEST_SUITE_P(Models, AllocationsTest,
                         testing::Values("testdata/iris/model.textproto",
                                         "testdata/digits/model.textproto",
                                         "testdata/mnist/model.textproto",
                                         "models/zoo/resnet_cifar/model.textproto", kText));

}  // namespace
}  // namespace tpurun
