//===- open_mpi.h - Open MPI, opened at run time --------------------------===//
//
// An executable has to start where there is none, so that it is not linked with
// it: the few calls that Baton makes are declared here, as Open MPI 4 and 5
// have them. Handles are addresses of its objects there; other
// implementations of MPI are refused.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_COMM_OPEN_MPI_H
#define BATON_RUNTIME_COMM_OPEN_MPI_H

#include <cstddef>
#include <string>

namespace baton {

struct OpenMpi {
  using Handle = void *;
  struct Status {
    int source, tag, error, cancelled;
    size_t bytes;
  };
  enum : int {
    success = 0,
    thread_serialized = 2,
    thread_multiple = 3,
    attribute_largest_tag = 0,
    any_source = -1,
  };

  int (*init)(int *, char ***, int required, int *provided);
  int (*finalize)();
  int (*abort)(Handle communicator, int status);
  int (*rank)(Handle communicator, int *rank);
  int (*size)(Handle communicator, int *size);
  int (*attribute)(Handle communicator, int key, void *value, int *found);
  int (*set_handler)(Handle communicator, Handle handler);
  int (*send)(const void *data, int count, Handle type, int to, int tag,
              Handle communicator, Handle *request);
  int (*receive)(void *data, int count, Handle type, int from, int tag,
                 Handle communicator, Handle *request);
  int (*test_all)(int count, Handle *requests, int *done, Status *statuses);
  int (*test)(Handle *request, int *done, Status *status);
  int (*probe)(int from, int tag, Handle communicator, int *found,
               Status *status);
  int (*error_text)(int code, char *text, int *length);
  Handle world, byte, errors_return;

  /// Loads the library; throws Error where there is none.
  static OpenMpi open();
  /// What an error code means.
  std::string text(int code) const;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_OPEN_MPI_H
