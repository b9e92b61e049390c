#include "runtime/profile/machine_peaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/cpu.h"
#include "runtime/base/instruction_sets.h"
#include "runtime/base/threads.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tpurun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRound(20);
constexpr int kRounds = 4;

// Calls `block` for the length of a round on each thread at once and returns the work a second of
// all threads. `block(thread)` returns the work that it has done.
double RateOf(int num_threads, const std::function<double(int thread)>& block) {
  const std::vector<int> cpus = AllowedCpus();
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> ready{0};
    std::vector<double> rates(num_threads);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < num_threads; ++thread) {
      threads.push_back(StartThread([&, thread] {
        if (num_threads <= static_cast<int>(cpus.size())) PinThread(pthread_self(), cpus[thread]);
        block(thread);  // touches memory, wakes the vector units
        ready.fetch_add(1);
        while (ready.load() < num_threads) SpinPause();
        const Clock::time_point begin = Clock::now();
        Clock::time_point end = begin;
        double work = 0;
        while (end - begin < kRound) {
          work += block(thread);
          end = Clock::now();
        }
        rates[thread] = work / std::chrono::duration<double>(end - begin).count();
      }));
    }
    for (std::thread& thread : threads) thread.join();
    double all = 0;
    for (const double rate : rates) all += rate;
    best = std::max(best, all);
  }
  return best;
}

// Keeps a value, so that the compiler does not remove its computation.
template <typename T>
void Keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

constexpr int kSteps = 2000;

// Flops of independent fused multiply-adds in registers. 12 chains: the latency is 4 or 5 cycles,
// and two start in a cycle.
constexpr int kChains = 12;

double PlainFlops() {
  const float x = 0.999f;
  float s[kChains];
  for (float& sum : s) sum = x;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) s[chain] = s[chain] * x + x;
  }
  for (const float sum : s) Keep(sum);
  return 2.0 * kChains * kSteps;
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] double Avx2Flops() {
  const __m256 x = _mm256_set1_ps(0.999f);
  __m256 s[kChains];
  for (__m256& sum : s) sum = x;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) s[chain] = _mm256_fmadd_ps(s[chain], x, x);
  }
  for (const __m256& sum : s) Keep(sum);
  return 2.0 * 8 * kChains * kSteps;
}

[[gnu::target("avx512f")]] double Avx512Flops() {
  const __m512 x = _mm512_set1_ps(0.999f);
  __m512 s[kChains];
  for (__m512& sum : s) sum = x;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) s[chain] = _mm512_fmadd_ps(s[chain], x, x);
  }
  for (const __m512& sum : s) Keep(sum);
  return 2.0 * 16 * kChains * kSteps;
}

[[gnu::target("avx512f,avx512bf16")]] double Avx512Bf16Flops() {
  const __m512bh x = (__m512bh)_mm512_set1_epi16(0x3f7f);
  __m512 s[kChains];
  for (__m512& sum : s) sum = _mm512_setzero_ps();
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) s[chain] = _mm512_dpbf16_ps(s[chain], x, x);
  }
  for (const __m512& sum : s) Keep(sum);
  return 2.0 * 32 * kChains * kSteps;
}

// Four products of 16 x 32 and 32 x 16 numbers, of zeros, in tile registers, over and over.
[[gnu::target("amx-tile,amx-bf16")]] double AmxBf16Flops() {
  struct alignas(64) Configuration {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  };
  static constexpr Configuration kConfiguration;
  _tile_loadconfig(&kConfiguration);
  for (int i = 0; i < kSteps; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_release();
  return 2.0 * 16 * 32 * 16 * 4 * kSteps;
}
#endif

double F32Flops(const InstructionSets& sets) {
#if defined(__x86_64__)
  if (sets.avx512) return Avx512Flops();
  if (sets.avx2) return Avx2Flops();
#endif
  return PlainFlops();
}

// a[i] = b[i] + 0.5 c[i], "triad" of STREAM (McCalpin 1995).
class Triad {
 public:
  // 3 arrays of 48 MiB in all for each thread, beyond the share of a last-level cache.
  Triad() : a_(kElements), b_(kElements, 1.0f), c_(kElements, 2.0f) {}

  double Run() {
    float* const a = a_.data();
    const float *b = b_.data(), *c = c_.data();
    for (int64_t i = 0; i < kBlock; ++i) a[at_ + i] = b[at_ + i] + 0.5f * c[at_ + i];
    at_ = (at_ + kBlock) % kElements;
    return 3.0 * sizeof(float) * kBlock;
  }

 private:
  static constexpr int64_t kElements = int64_t{4} << 20, kBlock = int64_t{1} << 18;
  std::vector<float> a_, b_, c_;
  int64_t at_ = 0;
};

}  // namespace

proto::MachinePeaks MeasurePeaks(int num_threads) {
  const InstructionSets sets = InstructionSets::OfThisProcessor();
  proto::MachinePeaks peaks;
  peaks.set_f32_gflops(RateOf(num_threads, [&](int) { return F32Flops(sets); }) / 1e9);
#if defined(__x86_64__)
  if (sets.avx512_bf16) {
    const auto flops = sets.amx_bf16 ? AmxBf16Flops : Avx512Bf16Flops;
    peaks.set_bf16_gflops(RateOf(num_threads, [flops](int) { return flops(); }) / 1e9);
  }
#endif
  std::vector<std::unique_ptr<Triad>> arrays;
  for (int thread = 0; thread < num_threads; ++thread) arrays.push_back(std::make_unique<Triad>());
  peaks.set_memory_gbytes(RateOf(num_threads, [&](int thread) { return arrays[thread]->Run(); }) /
                          1e9);
  return peaks;
}

}  // namespace tpurun
