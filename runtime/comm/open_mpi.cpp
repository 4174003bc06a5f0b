//===- open_mpi.cpp - Open MPI, opened at run time ------------------------===//

#include "runtime/comm/open_mpi.h"

#include "runtime/error.h"

#include <type_traits>

#include <dlfcn.h>

namespace baton {

OpenMpi OpenMpi::open() {
  // Its plug-ins find its symbols by themselves only when they are global.
  void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    throw Error("--engine=mpi: Open MPI (libmpi.so.40, of the packages "
                "openmpi-bin or libopenmpi3) is not installed");
  auto symbol = [&](const char *name) {
    void *address = dlsym(library, name);
    if (!address)
      throw Error(std::string("--engine=mpi: libmpi.so.40 lacks ") + name +
                  "; Baton knows Open MPI 4 and 5 only");
    return address;
  };
  OpenMpi mpi = {};
  auto resolve = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        symbol(name));
  };
  resolve("MPI_Init_thread", mpi.init);
  resolve("MPI_Finalize", mpi.finalize);
  resolve("MPI_Abort", mpi.abort);
  resolve("MPI_Comm_rank", mpi.rank);
  resolve("MPI_Comm_size", mpi.size);
  resolve("MPI_Comm_get_attr", mpi.attribute);
  resolve("MPI_Comm_set_errhandler", mpi.set_handler);
  resolve("MPI_Isend", mpi.send);
  resolve("MPI_Irecv", mpi.receive);
  resolve("MPI_Testall", mpi.test_all);
  resolve("MPI_Test", mpi.test);
  resolve("MPI_Iprobe", mpi.probe);
  resolve("MPI_Error_string", mpi.error_text);
  mpi.world = symbol("ompi_mpi_comm_world");
  mpi.byte = symbol("ompi_mpi_byte");
  mpi.errors_return = symbol("ompi_mpi_errors_return");
  return mpi;
}

std::string OpenMpi::text(int code) const {
  char buffer[512] = "";
  int length = 0;
  if (error_text(code, buffer, &length) != success)
    return "error " + std::to_string(code);
  return std::string(buffer, static_cast<size_t>(length));
}

} // namespace baton
