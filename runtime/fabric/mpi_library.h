// Open MPI, opened at run time: the few functions and objects of it that the fabric uses. The
// program neither includes mpi.h nor links libmpi, so that one binary runs with and without Open
// MPI and is built without it. The declarations are those of the ABI of libmpi.so.40, which all
// releases of Open MPI 4 and 5 have. Functions return MPI's codes and have MPI's meaning.
#ifndef TPURUN_RUNTIME_FABRIC_MPI_LIBRARY_H_
#define TPURUN_RUNTIME_FABRIC_MPI_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

struct ompi_communicator_t;
struct ompi_datatype_t;
struct ompi_errhandler_t;
struct ompi_request_t;

namespace tpurun {

struct MpiLibrary {
  using Comm = ompi_communicator_t*;
  using Datatype = ompi_datatype_t*;
  using Errhandler = ompi_errhandler_t*;
  using Request = ompi_request_t*;
  using Status = void;  // only MPI_STATUS_IGNORE, which is null, is passed

  static constexpr int kSuccess = 0;           // MPI_SUCCESS
  static constexpr int kThreadSerialized = 2;  // MPI_THREAD_SERIALIZED

  int (*Initialized)(int* flag);
  int (*Init_thread)(int* argc, char*** argv, int required, int* provided);
  int (*Query_thread)(int* provided);
  int (*Finalize)();
  int (*Abort)(Comm comm, int code);
  int (*Comm_dup)(Comm comm, Comm* copy);
  int (*Comm_rank)(Comm comm, int* rank);
  int (*Comm_size)(Comm comm, int* size);
  int (*Comm_set_errhandler)(Comm comm, Errhandler errhandler);
  int (*Isend)(const void* data, int count, Datatype type, int peer, int tag, Comm comm,
               Request* request);
  int (*Irecv)(void* data, int count, Datatype type, int peer, int tag, Comm comm,
               Request* request);
  int (*Test)(Request* request, int* flag, Status* status);
  int (*Wait)(Request* request, Status* status);
  int (*Cancel)(Request* request);
  int (*Get_processor_name)(char* name, int* length);
  int (*Get_library_version)(char* version, int* length);
  int (*Error_string)(int code, char* text, int* length);

  Comm world;                // MPI_COMM_WORLD
  Datatype byte;             // MPI_BYTE
  Errhandler errors_return;  // MPI_ERRORS_RETURN
  Request null;              // MPI_REQUEST_NULL

  // The text of a code, as "MPI_ERR_TRUNCATE: message truncated".
  std::string ErrorText(int code) const;
};

// Opens libmpi.so.40 at the first call, and never closes it. NotFound, with the packages to
// install, if it cannot be opened; FailedPrecondition if it is not Open MPI's. Any thread may call
// it.
absl::StatusOr<const MpiLibrary*> OpenMpiLibrary();

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_FABRIC_MPI_LIBRARY_H_
