//===- descriptor.h - an owned file descriptor ---------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_DESCRIPTOR_H
#define BATON_RUNTIME_WEIGHTS_DESCRIPTOR_H

#include <unistd.h>

namespace baton {

/// Closed at the end of its scope; negative for none.
struct Descriptor {
  int value = -1;

  explicit Descriptor(int value) : value(value) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (value >= 0)
      close(value);
  }
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_DESCRIPTOR_H
