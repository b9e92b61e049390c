// The processes of a run as ranks of Open MPI, on one machine or on several:
//   mpirun -np 2 --bind-to none tpurun train ...
//   srun --mpi=pmix -n 2 tpurun train ...
// mpirun binds each of two processes to one core, unless it is told otherwise. Open MPI is opened
// at run time (mpi_library.h). Here MPI only carries messages: the collectives are the fabric's,
// because MPI promises no order of additions.
//
// A process that is killed, stopped or cut off is found by the others. A thread of each process
// sends a heartbeat to all others. A process of which none has come for the timeout has not
// answered. One that computes, or writes a checkpoint, for longer than that is alive. Time in which
// this process itself does not run, because it is stopped, does not count.
#ifndef TPURUN_RUNTIME_FABRIC_MPI_FABRIC_H_
#define TPURUN_RUNTIME_FABRIC_MPI_FABRIC_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/fabric/fabric.h"

namespace tpurun {

struct MpiFabricOptions {
  // Seconds, > 0. It is at least four times the longest time for which a loaded machine lets a
  // thread wait.
  double host_timeout = 30;
  // The number of interrupts so far, or null; outlives the fabric. The first lets calls go on, so
  // that a step ends in all processes. From the second on a waiting call returns Cancelled.
  const std::atomic<int>* interrupt = nullptr;
};

// True if a launcher has started this process as one of several. mpirun tells the number of
// processes (OMPI_COMM_WORLD_SIZE). srun --mpi=pmix, as other launchers that speak PMIx, tells the
// rank and the name of the job (PMIX_RANK, PMIX_NAMESPACE), and Slurm the number of tasks
// (SLURM_STEP_NUM_TASKS); without it the job counts as several processes. One process alone counts
// as not started by MPI: it needs no fabric. The launchers of other MPIs are not recognized. Reads
// the environment at the first call.
bool StartedByMpi();

// This process's number among them, from 0; 0 if it was not started by MPI. Before OpenMpiFabric.
int RankByMpi();

// The number of the job's processes on this machine, or 1 if the launcher does not tell.
int LocalSizeByMpi();

// Initializes MPI, in all processes of the job; returns when all have called it, and ends this
// process with exit code 75 if they have not within the timeout. Removes from the
// environment what StartedByMpi reads: a program that this process starts is no process of the job.
// No other thread may read or change the environment at the same time. The caller's
// thread and one of the fabric call MPI one at a time (MPI_THREAD_SERIALIZED). Where the caller has
// initialized MPI, the fabric uses it and leaves MPI_Finalize to the caller, who calls MPI only
// before and after the fabric's life. At most one fabric at a time; it is the last one where it
// finalizes MPI.
//
// Errors: those of OpenMpiLibrary; InvalidArgument if the number of processes is no power of 2;
// Internal where MPI cannot be initialized. Then MPI is finalized.
//
// The calls of the fabric return Unavailable, with rank and host, where a process has not answered,
// has ended or has failed. No call returns OK after another process has given up its part of it. A
// process that has failed makes no more MPI calls, so that nobody touches its buffers.
//
// The destructor tells the others that this process is done and waits until all are, or one has
// failed; then it calls MPI_Finalize. After an error it does not wait and does not call
// MPI_Finalize, which would wait for processes that are gone; mpirun then ends the rest of the job.
// It waits for MPI_Finalize no longer than the timeout.
//
// Abort calls MPI_Abort with exit code 75 (EX_TEMPFAIL), and exits by itself with this code where
// that does not return within 5 seconds. It does not return, writes no message and flushes nothing.
absl::StatusOr<std::unique_ptr<Fabric>> OpenMpiFabric(const MpiFabricOptions& options);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_FABRIC_MPI_FABRIC_H_
