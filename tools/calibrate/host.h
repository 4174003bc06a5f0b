//===- host.h - the machine that this process runs on ---------------------===//

#ifndef BATON_TOOLS_CALIBRATE_HOST_H
#define BATON_TOOLS_CALIBRATE_HOST_H

#include <cstdint>
#include <string>

namespace baton::calibrate {

struct Host {
  /// As the system calls it.
  std::string processor;
  /// That this process may use.
  int64_t cores = 0;
  /// Bytes; of the largest cache, 0 where the system does not say.
  double memory = 0, cache = 0;
  /// In UTC.
  std::string date;
};

Host this_host();

} // namespace baton::calibrate

#endif // BATON_TOOLS_CALIBRATE_HOST_H
