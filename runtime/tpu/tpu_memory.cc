#include "runtime/tpu/tpu_memory.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/text.h"
#include "runtime/ir/origin.h"

namespace tpurun {
namespace {

std::string Utilization(const TpuSize& size) {
  return absl::StrFormat("(%.1f%% utilization: Unpadded (%s) Padded (%s))",
                         100 * size.utilization(), PrintTpuBytes(size.unpadded),
                         PrintTpuBytes(size.padded));
}

// A line of a sum: the name, and the size in a column of its own.
void AddLine(const char* name, const std::string& size, std::string& text,
             const std::string& comment = "") {
  absl::StrAppendFormat(&text, "    %-12s %10s%s\n", name, size,
                        comment.empty() ? comment : " " + comment);
}

void AddAllocation(int number, const TpuProgram& program, const TpuBuffer& buffer, const char* type,
                   std::string& text) {
  const int64_t padded = buffer.bytes(), unpadded = UnpaddedTpuBytes(buffer.shape);
  absl::StrAppendFormat(&text, "\n  %d. Size: %s\n", number, PrintTpuBytes(padded));
  if (buffer.node >= 0) {
    const Node& node = program.graph.nodes()[buffer.node];
    absl::StrAppendFormat(&text, "     Operator: op_type=\"%s\" op_name=\"%s\"\n", node.op->name,
                          Escape(node.name));
    if (!node.origins.empty())
      absl::StrAppend(&text, "     Layer: ", Escape(Describe(node.origins)), "\n");
  }
  absl::StrAppend(&text, "     Shape: ", PrintTiledShape(buffer.shape, buffer.layout), "\n");
  absl::StrAppend(&text, "     Unpadded size: ", PrintTpuBytes(unpadded), "\n");
  if (padded > unpadded) {
    absl::StrAppendFormat(&text, "     Extra memory due to padding: %s (%.1fx expansion)\n",
                          PrintTpuBytes(padded - unpadded),
                          static_cast<double>(padded) / static_cast<double>(unpadded));
  }
  absl::StrAppend(&text, "     Allocation type: ", type, "\n     ==========================\n");
}

}  // namespace

std::vector<int64_t> TemporaryBytes(const TpuProgram& program) {
  const size_t computations = program.computations.size();
  std::vector<int64_t> bytes(computations + 1);  // first as the change from the computation before
  for (const TpuBuffer& buffer : program.buffers) {
    if (buffer.kind != TpuBuffer::Kind::kTemporary || computations == 0) continue;
    bytes[std::max(buffer.first, 0)] += buffer.bytes();
    bytes[std::max({buffer.first, buffer.last, 0}) + 1] -= buffer.bytes();
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  bytes.pop_back();
  return bytes;
}

TpuMemory MemoryOf(const TpuProgram& program) {
  TpuMemory memory;
  for (const TpuBuffer& buffer : program.buffers) {
    switch (buffer.kind) {
      case TpuBuffer::Kind::kArgument:
        memory.arguments.Add(buffer);
        break;
      case TpuBuffer::Kind::kOutput:
        memory.outputs.Add(buffer);
        break;
      case TpuBuffer::Kind::kUpdate:
      case TpuBuffer::Kind::kTemporary:
        break;
    }
  }
  const std::vector<int64_t> live = TemporaryBytes(program);
  memory.peak = live.empty()
                    ? -1
                    : static_cast<int>(std::max_element(live.begin(), live.end()) - live.begin());
  for (int i = 0; i < static_cast<int>(program.buffers.size()); ++i) {
    const TpuBuffer& buffer = program.buffers[i];
    const bool temporary = buffer.kind == TpuBuffer::Kind::kTemporary &&
                           buffer.first <= memory.peak &&
                           std::max(buffer.first, buffer.last) >= memory.peak;
    if (temporary) memory.temporaries.Add(buffer);
    if (temporary || buffer.kind == TpuBuffer::Kind::kOutput) memory.at_peak.push_back(i);
  }
  std::stable_sort(memory.at_peak.begin(), memory.at_peak.end(), [&](int a, int b) {
    return program.buffers[a].bytes() > program.buffers[b].bytes();
  });
  return memory;
}

std::string PrintMemory(const TpuProgram& program, const TpuMemory& memory,
                        const Accelerator& accelerator, int largest) {
  std::string text;
  const int64_t capacity = accelerator.generation->hbm_bytes;
  if (!memory.fits(accelerator)) {
    absl::StrAppendFormat(&text,
                          "Ran out of memory in memory space hbm. Used %s of %s hbm. Exceeded hbm "
                          "capacity by %s.\n\n",
                          PrintTpuBytes(memory.used()), PrintTpuBytes(capacity),
                          PrintTpuBytes(memory.used() - capacity));
  }
  absl::StrAppend(&text, "Total hbm usage >= ", PrintTpuBytes(memory.used()), ":\n");
  AddLine("reserved", PrintTpuBytes(kReservedHbm), text);
  AddLine("program", PrintTpuBytes(memory.program()), text);
  AddLine("arguments", PrintTpuBytes(memory.arguments.padded), text, Utilization(memory.arguments));
  absl::StrAppend(&text, "\nProgram hbm requirement ", PrintTpuBytes(memory.program()), ":\n");
  AddLine("HLO temp", PrintTpuBytes(memory.temporaries.padded), text,
          Utilization(memory.temporaries));
  AddLine("output", PrintTpuBytes(memory.outputs.padded), text, Utilization(memory.outputs));
  if (largest == 0) return text;
  text += "\n  Largest program allocations in hbm:\n";
  for (int i = 0; i < std::min<int>(largest, static_cast<int>(memory.at_peak.size())); ++i) {
    const TpuBuffer& buffer = program.buffers[memory.at_peak[i]];
    AddAllocation(i + 1, program, buffer,
                  buffer.kind == TpuBuffer::Kind::kOutput ? "output" : "HLO temp", text);
  }
  return text;
}

}  // namespace tpurun
