//===- Relocation.h - bodies that run elsewhere ---------------------------===//
//
// The environment's BATON_TEST_BODIES says where the tests of this folder run
// the bodies they call:
//
//   (unset)      in the emulation, on the tests' own memory
//   copies       in the emulation, on copies
//   FILE.cubin   on the GPU: the kernels that CompiledBodies.cu defines
//
// Every heap allocation that an argument points into goes there whole and comes
// back whole. A body finds the same data, gaps and guards as at home, and the
// test judges by the same oracle and the same bits. What an argument points to
// has to be on the heap: the extent of anything else is not known.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_RELOCATION_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_RELOCATION_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>

namespace baton::test {

/// Where bodies run. Throws std::runtime_error, in one line, when it cannot.
class Place {
public:
  /// As the environment says; null for the tests' own memory.
  static Place *chosen();

  virtual ~Place() = default;
  /// Aligned to 256 bytes, and not a byte more than asked for.
  virtual void *allocate(size_t bytes) = 0;
  virtual void release(void *there) noexcept = 0;
  virtual void send(void *there, const void *here, size_t bytes) = 0;
  virtual void fetch(void *here, const void *there, size_t bytes) = 0;
  virtual bool is_gpu() const = 0;
  /// Whether `body` can run here.
  virtual bool has(const std::string &body) = 0;
  /// Runs `body` in one block with so many bytes of dynamic shared memory, on
  /// arguments of 8 bytes each, and waits for it. False if the caller is to
  /// call the body itself.
  virtual bool run(const std::string &body, unsigned threads,
                   size_t shared_bytes,
                   std::span<const uint64_t> arguments) = 0;

  /// Calls of bodies on memory of this place.
  uint64_t calls = 0;
};

/// The memory of one call.
class Relocation {
public:
  explicit Relocation(Place &place) : place(place) {}
  Relocation(const Relocation &) = delete;
  Relocation &operator=(const Relocation &) = delete;
  ~Relocation();

  /// The argument as the body is to see it.
  template <typename T> T moved(T argument) {
    if constexpr (std::is_pointer_v<T>)
      return static_cast<T>(const_cast<void *>(moved_address(argument)));
    else
      return argument;
  }

  /// Behind the call: what the body has written is written at home.
  void fetch();

private:
  const void *moved_address(const void *address);

  Place &place;
  struct Copy {
    void *there;
    size_t bytes;
  };
  std::map<std::byte *, Copy> copies;
};

/// An argument in 8 bytes, as CompiledBodies.cu reads it.
template <typename T> uint64_t argument_word(T argument) {
  static_assert(sizeof argument <= sizeof(uint64_t));
  uint64_t word = 0;
  std::memcpy(&word, &argument, sizeof argument);
  return word;
}

/// Runs a body on `arguments`, in their order, where the environment says.
/// `emulate` calls it on what the arguments are then.
template <typename Emulate, typename... Arguments>
void run_placed(const std::string &body, unsigned threads, size_t shared_bytes,
                Emulate emulate, Arguments &...arguments) {
  Place *const place = Place::chosen();
  if (!place)
    return emulate();
  Relocation relocation(*place);
  ((arguments = relocation.moved(arguments)), ...);
  const std::array<uint64_t, sizeof...(Arguments)> words = {
      argument_word(arguments)...};
  if (!place->run(body, threads, shared_bytes, words))
    emulate();
  relocation.fetch();
  ++place->calls;
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_RELOCATION_H
