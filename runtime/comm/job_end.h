//===- job_end.h - ends all ranks because of one --------------------------===//

#ifndef BATON_RUNTIME_COMM_JOB_END_H
#define BATON_RUNTIME_COMM_JOB_END_H

#include "runtime/comm/communicator.h"

#include <string>

namespace baton {

/// Says why on standard error, in one line, removes temporary files, and ends
/// all ranks' processes at once with status 1; for what one rank finds while
/// others wait for it in a program that cannot be left. Of ranks that are
/// threads the first one to call it is heard.
[[noreturn]] void end_job(Communicator &communicator,
                          const std::string &message) noexcept;

/// The same at the end of a job that all ranks end alike, each on its own: the
/// one that talks to the user says why, before any of them is gone.
[[noreturn]] void end_job_together(Communicator &communicator,
                                   const std::string &message) noexcept;

/// Ends the process with 1 because of what a task found; other tasks cannot go
/// on. Ranks that are processes of their own notice that it is gone.
[[noreturn]] void end_process(const std::string &message) noexcept;

/// Removes temporary files, in a thread that is about to end the process and
/// that no signal disturbs any more. Once; another thread waits here for ever.
void leave_nothing() noexcept;

} // namespace baton

#endif // BATON_RUNTIME_COMM_JOB_END_H
