// In place of libmpi.so.40: the library of an MPI that is not Open MPI.
#include <cstring>

extern "C" int MPI_Get_library_version(char* version, int* length) {
  std::strcpy(version, "MPICH Version: 4.0.2");
  *length = static_cast<int>(std::strlen(version));
  return 0;
}
