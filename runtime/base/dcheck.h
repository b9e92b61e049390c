// TPURUN_DCHECK(condition): an invariant that only a mistake in this program can break. If
// `condition` is false, the process prints the place and the text of the condition and aborts. With
// NDEBUG, as in the product, the condition is not evaluated; .bazelrc says which builds define
// NDEBUG.
#ifndef TPURUN_RUNTIME_BASE_DCHECK_H_
#define TPURUN_RUNTIME_BASE_DCHECK_H_

#include <cstdio>
#include <cstdlib>

namespace tpurun {

#ifdef NDEBUG
inline constexpr bool kDchecksAreOn = false;
#else
inline constexpr bool kDchecksAreOn = true;
#endif

[[noreturn]] inline void EndOfDcheck(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: DCHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace tpurun

#define TPURUN_DCHECK(condition)                                               \
  do {                                                                         \
    if constexpr (::tpurun::kDchecksAreOn) {                                   \
      if (!(condition)) ::tpurun::EndOfDcheck(__FILE__, __LINE__, #condition); \
    }                                                                          \
  } while (false)

#endif  // TPURUN_RUNTIME_BASE_DCHECK_H_
