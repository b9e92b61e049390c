#include "runtime/fabric/mpi_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tpurun {
namespace {

constexpr char kMpiFile[] = "libmpi.so.40";
constexpr int kMostText = 8192;  // more than MPI_MAX_LIBRARY_VERSION_STRING and the like of 4 and 5

absl::StatusOr<MpiLibrary> LoadMpi() {
  // Its components, which it opens by itself, find its symbols only among the global ones.
  void* const file = dlopen(kMpiFile, RTLD_NOW | RTLD_GLOBAL);
  if (file == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("this process was started by mpirun or srun, but ", kMpiFile,
                     " of Open MPI cannot be opened: ", dlerror(),
                     "; install it: apt-get install libopenmpi3 openmpi-bin"));
  }
  std::string missing;
  const auto find = [&](const char* name) {
    void* const symbol = dlsym(file, name);
    if (symbol == nullptr) missing = name;
    return symbol;
  };
  const auto load = [&]<typename Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(find(name));
  };
  MpiLibrary mpi = {};
  load("MPI_Get_library_version", mpi.Get_library_version);
  if (missing.empty()) {
    char version[kMostText] = {};
    int length = 0;
    mpi.Get_library_version(version, &length);
    if (!absl::StartsWith(version, "Open MPI")) {
      return absl::FailedPreconditionError(absl::StrCat(
          kMpiFile, " is of another MPI: got \"", version, "\", want that of Open MPI 4 or 5"));
    }
  }
  load("MPI_Initialized", mpi.Initialized);
  load("MPI_Init_thread", mpi.Init_thread);
  load("MPI_Query_thread", mpi.Query_thread);
  load("MPI_Finalize", mpi.Finalize);
  load("MPI_Abort", mpi.Abort);
  load("MPI_Comm_dup", mpi.Comm_dup);
  load("MPI_Comm_rank", mpi.Comm_rank);
  load("MPI_Comm_size", mpi.Comm_size);
  load("MPI_Comm_set_errhandler", mpi.Comm_set_errhandler);
  load("MPI_Isend", mpi.Isend);
  load("MPI_Irecv", mpi.Irecv);
  load("MPI_Test", mpi.Test);
  load("MPI_Wait", mpi.Wait);
  load("MPI_Cancel", mpi.Cancel);
  load("MPI_Get_processor_name", mpi.Get_processor_name);
  load("MPI_Error_string", mpi.Error_string);
  // mpi.h defines MPI_COMM_WORLD and the like as the addresses of these objects.
  mpi.world = static_cast<MpiLibrary::Comm>(find("ompi_mpi_comm_world"));
  mpi.byte = static_cast<MpiLibrary::Datatype>(find("ompi_mpi_byte"));
  mpi.errors_return = static_cast<MpiLibrary::Errhandler>(find("ompi_mpi_errors_return"));
  mpi.null = static_cast<MpiLibrary::Request>(find("ompi_request_null"));
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(kMpiFile, " has no ", missing, ", want that of Open MPI 4 or 5"));
  }
  return mpi;
}

}  // namespace

std::string MpiLibrary::ErrorText(int code) const {
  char text[kMostText] = {};
  int length = 0;
  if (Error_string(code, text, &length) != kSuccess) return absl::StrCat("code ", code);
  return text;
}

absl::StatusOr<const MpiLibrary*> OpenMpiLibrary() {
  static const auto& mpi = *new absl::StatusOr<MpiLibrary>(LoadMpi());
  RETURN_IF_ERROR(mpi.status());
  return &*mpi;
}

}  // namespace tpurun
