#include "runtime/device/worker_cpus.h"

#include "runtime/base/cpu.h"

namespace tpurun {

void WorkerCpus::Bind(int worker) {
  Worker& self = workers_[worker];
  self.thread = pthread_self();
  self.watched.resize(workers_.size());
  PinThread(self.thread, cpus_[worker]);
}

void WorkerCpus::Unbind(int worker) {
  Worker& self = workers_[worker];
  if (self.is_unbound) return;
  self.is_unbound = true;
  self.is_elsewhere.store(true);
  PinThread(self.thread, cpus_);
}

void WorkerCpus::Return(int worker) {
  Worker& self = workers_[worker];
  if (!self.is_elsewhere.load(std::memory_order_relaxed)) return;
  self.is_unbound = false;
  self.is_elsewhere.store(false);
  PinThread(self.thread, cpus_[worker]);
}

void WorkerCpus::Watch(int worker) {
  for (size_t other = 0; other < workers_.size(); ++other) {
    const Worker& of = workers_[other];
    workers_[worker].watched[other] = of.computes.load(std::memory_order_relaxed)
                                          ? CpuTime(of.thread)
                                          : std::chrono::nanoseconds::zero();
  }
}

void WorkerCpus::Lend(int worker) {
  int& borrower = workers_[worker].borrower;
  if (borrower >= 0 && workers_[borrower].is_elsewhere.load()) return;
  for (size_t other = 0; other < workers_.size(); ++other) {
    Worker& of = workers_[other];
    const std::chrono::nanoseconds watched = workers_[worker].watched[other];
    if (watched == std::chrono::nanoseconds::zero() ||
        !of.computes.load(std::memory_order_relaxed) || CpuTime(of.thread) != watched)
      continue;
    if (of.is_elsewhere.exchange(true)) continue;
    borrower = static_cast<int>(other);
    PinThread(of.thread, cpus_[worker]);
    // It may have run meanwhile, and called Return before it was bound here.
    if (!of.is_elsewhere.load()) PinThread(of.thread, cpus_[other]);
    return;
  }
}

}  // namespace tpurun
