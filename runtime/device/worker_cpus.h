// WorkerCpus: one CPU for each worker, to which its thread is bound. Where another process runs on
// the CPU of a worker, the system stops that worker for milliseconds, and those that need its
// results wait: one of them then lends it its own CPU until the results are there.
#ifndef TPURUN_RUNTIME_DEVICE_WORKER_CPUS_H_
#define TPURUN_RUNTIME_DEVICE_WORKER_CPUS_H_

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

namespace tpurun {

class WorkerCpus {
 public:
  // The CPU of each worker.
  explicit WorkerCpus(std::vector<int> cpus) : cpus_(std::move(cpus)), workers_(cpus_.size()) {}

  // Binds the calling thread, which is that of `worker` from now on. Before the first Watch.
  void Bind(int worker);

  // Whether others wait for `worker` to run: it has begun something and does not wait itself.
  void SetComputes(int worker, bool computes) {
    workers_[worker].computes.store(computes, std::memory_order_relaxed);
  }
  // Lets the system choose among the CPUs of all workers for the calling worker, until it returns.
  void Unbind(int worker);
  // Binds the calling worker to its own CPU if it is not.
  void Return(int worker);

  // A worker that waits calls Watch, sleeps for a while, calls Lend, and sleeps again. Lend binds
  // to the CPU of `worker` one that computes but has not run since Watch, if there is one and the
  // last one has returned.
  void Watch(int worker);
  void Lend(int worker);

 private:
  struct alignas(64) Worker {
    std::atomic<bool> computes{false};
    std::atomic<bool> is_elsewhere{false};  // not bound to its own CPU
    bool is_unbound = false;                // for this worker alone
    pthread_t thread = 0;
    int borrower = -1;                              // the worker that was last bound to its CPU
    std::vector<std::chrono::nanoseconds> watched;  // [worker]: its CPU time; 0: not computing
  };

  const std::vector<int> cpus_;  // [worker]
  std::vector<Worker> workers_;
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_DEVICE_WORKER_CPUS_H_
