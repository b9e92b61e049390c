#include "runtime/ops/chunked.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/ops/shares.h"

namespace tpurun {
namespace {

int64_t RowsOf(const OpCall& call) { return call.operands[0].dims[0]; }
int64_t ChunksOf(const OpCall& call) { return call.results[0].dims[0]; }

class Chunked final : public Kernel {
 public:
  // make(call on a chunk) gives a kernel, or nullptr.
  template <typename Make>
  Chunked(const OpCall& call, const OpDef& op, Make make)
      : rows_(RowsOf(call)),
        chunks_(ChunksOf(call)),
        result_bytes_(call.results[0].bytes() / chunks_) {
    for (const Shape& operand : call.operands) row_bytes_.push_back(operand.bytes() / rows_);
    for (const int64_t rows : ShareSizes(RowsOf(call), ChunksOf(call))) {
      const OpCall on_chunk = CallOnChunk(call, op, rows);
      by_rows_[rows] = OnChunk{make(on_chunk), Units(on_chunk)};
    }
  }

  bool valid() const {
    return std::all_of(by_rows_.begin(), by_rows_.end(),
                       [](const auto& entry) { return entry.second.kernel != nullptr; });
  }

  void SetWorkers(int workers) override {
    for (auto& [rows, on_chunk] : by_rows_) on_chunk.kernel->SetWorkers(workers);
  }

  absl::Status Run(const KernelArgs& args) const override {
    for (int64_t chunk = args.begin; chunk < args.end; ++chunk) {
      const int64_t begin = rows_ * chunk / chunks_, end = rows_ * (chunk + 1) / chunks_;
      const void* operands[kMostOperands];
      for (size_t i = 0; i < row_bytes_.size(); ++i)
        operands[i] = static_cast<const std::byte*>(args.operands[i]) + begin * row_bytes_[i];
      void* result = static_cast<std::byte*>(args.results[0]) + chunk * result_bytes_;
      const OnChunk& on_chunk = by_rows_.at(end - begin);
      absl::Status status = on_chunk.kernel->Run({.operands = operands,
                                                  .results = &result,
                                                  .scratch = args.scratch,
                                                  .worker = args.worker,
                                                  .begin = 0,
                                                  .end = on_chunk.units});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int kMostOperands = 4;
  struct OnChunk {
    std::unique_ptr<Kernel> kernel;
    int64_t units = 0;
  };
  const int64_t rows_, chunks_, result_bytes_;
  std::vector<int64_t> row_bytes_;
  std::map<int64_t, OnChunk> by_rows_;
};

}  // namespace

OpCall CallOnChunk(const OpCall& call, const OpDef& op, int64_t rows) {
  OpCall on_chunk{.op = &op, .attrs = call.attrs, .needed = {true}};
  for (const Shape& operand : call.operands) {
    on_chunk.operands.push_back(operand);
    on_chunk.operands.back().dims[0] = rows;
  }
  const Shape& result = call.results[0];
  on_chunk.results = {Shape{result.dtype, {result.dims.begin() + 1, result.dims.end()}}};
  return on_chunk;
}

std::unique_ptr<Kernel> ChunkedReference(const OpCall& call, const OpDef& op) {
  return std::make_unique<Chunked>(call, op,
                                   [&](const OpCall& on_chunk) { return op.reference(on_chunk); });
}

KernelPlan PlanChunked(const OpCall& call, const OpDef& op, const Machine& machine) {
  std::vector<OpCall> chunks;
  for (const int64_t rows : ShareSizes(RowsOf(call), ChunksOf(call)))
    chunks.push_back(CallOnChunk(call, op, rows));
  return PlanOfAll(chunks, [&](const OpCall& on_chunk) { return PlanKernel(on_chunk, machine); });
}

std::unique_ptr<Kernel> MakeChunked(const OpCall& call, const OpDef& op, const KernelPlan& plan) {
  auto kernel = std::make_unique<Chunked>(
      call, op, [&](const OpCall& on_chunk) { return MakeKernel(on_chunk, plan); });
  return kernel->valid() ? std::move(kernel) : nullptr;
}

}  // namespace tpurun
