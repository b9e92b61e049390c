// The time of a fabric's AllReduceSum beside MPI_Allreduce of the same f32 vectors in the same
// processes, and of an AllGather of 16 bytes:
//   mpirun -np 2 bazel-bin/tests/bench/all_reduce [LEAST BYTES [MOST BYTES]]
// The two take turns, 30 rounds a size. A time is the least of the rounds' means: others use the
// machine too.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/fabric/mpi_fabric.h"
#include "runtime/fabric/mpi_library.h"

namespace tpurun {
namespace {

constexpr int kRounds = 30;

using AllReduce = int(const void* x, void* sum, int n, MpiLibrary::Datatype type, void* op,
                      MpiLibrary::Comm comm);

// Microseconds a call.
double TimeOf(int calls, const std::function<void()>& call) {
  for (int i = 0; i < std::max(1, calls / 10); ++i) call();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count() / calls;
}

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(ExitCode(status));
}

void Run(int64_t least, int64_t most) {
  const auto library = OpenMpiLibrary();
  Require(library.status());
  const MpiLibrary& mpi = **library;
  int level = 0;
  mpi.Init_thread(nullptr, nullptr, MpiLibrary::kThreadSerialized, &level);
  const auto all_reduce = reinterpret_cast<AllReduce*>(dlsym(RTLD_DEFAULT, "MPI_Allreduce"));
  const auto type = static_cast<MpiLibrary::Datatype>(dlsym(RTLD_DEFAULT, "ompi_mpi_float"));
  void* const op = dlsym(RTLD_DEFAULT, "ompi_mpi_op_sum");
  int rank = 0;
  mpi.Comm_rank(mpi.world, &rank);
  if (rank == 0) std::printf("%12s %12s %12s %6s\n", "bytes", "MPI, us", "fabric, us", "ratio");
  for (int64_t bytes = least; bytes <= most; bytes *= 2) {
    const int n = static_cast<int>(bytes / 4);
    const int calls = static_cast<int>(std::clamp<int64_t>((4 << 20) / bytes, 1, 500));
    std::vector<float> x(n, 1.0f), sum(n);
    double of_mpi = std::numeric_limits<double>::max(), of_fabric = of_mpi;
    for (int round = 0; round < kRounds; ++round) {
      of_mpi = std::min(
          of_mpi, TimeOf(calls, [&] { all_reduce(x.data(), sum.data(), n, type, op, mpi.world); }));
      const auto fabric = OpenMpiFabric({});
      Require(fabric.status());
      of_fabric = std::min(of_fabric, TimeOf(calls, [&] {
                             Require((*fabric)->AllReduceSum(x.data(), sum.data(), n));
                           }));
    }
    if (rank == 0) {
      std::printf("%12ld %12.2f %12.2f %6.2f\n", static_cast<long>(bytes), of_mpi, of_fabric,
                  of_fabric / of_mpi);
      std::fflush(stdout);
    }
  }
  {
    const auto fabric = OpenMpiFabric({});
    Require(fabric.status());
    std::vector<char> own(16), all(16 * (*fabric)->size());
    double time = std::numeric_limits<double>::max();
    for (int round = 0; round < kRounds; ++round) {
      time = std::min(
          time, TimeOf(500, [&] { Require((*fabric)->AllGather(own.data(), 16, all.data())); }));
    }
    if (rank == 0) std::printf("AllGather of 16 bytes: %.2f us\n", time);
  }
  mpi.Finalize();
}

}  // namespace
}  // namespace tpurun

int main(int argc, char** argv) {
  tpurun::Run(argc > 1 ? std::atoll(argv[1]) : 4, argc > 2 ? std::atoll(argv[2]) : 64 << 20);
  return 0;
}
