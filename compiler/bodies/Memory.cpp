//===- Memory.cpp - values that a task body is run on
//----------------------===//

#include "compiler/bodies/Memory.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace baton;
using namespace baton::checks;

/// Of address space, before and behind an area.
static constexpr size_t kGuard = size_t(1) << 30;

/// Those that live. Few, and never moved while a body runs.
static std::vector<Memory *> &living() {
  static std::vector<Memory *> all;
  return all;
}

static void storeBits(char *element, const llvm::APInt &bits) {
  uint64_t value = bits.getZExtValue();
  std::memcpy(element, &value, bits.getBitWidth() / 8);
}

void checks::store(char *element, Type type, double number) {
  llvm::APFloat value(number);
  bool inexact;
  value.convert(cast<FloatType>(type).getFloatSemantics(),
                llvm::APFloat::rmNearestTiesToEven, &inexact);
  storeBits(element, value.bitcastToAPInt());
}

double checks::load(const char *element, Type type) {
  uint64_t bits = 0;
  unsigned width = type.getIntOrFloatBitWidth();
  std::memcpy(&bits, element, width / 8);
  llvm::APFloat value(cast<FloatType>(type).getFloatSemantics(),
                      llvm::APInt(width, bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &inexact);
  return value.convertToDouble();
}

void checks::storeNan(char *element, Type type, Random &random) {
  llvm::APInt payload(64, random.bits() >> 1);
  storeBits(element,
            llvm::APFloat::getQNaN(cast<FloatType>(type).getFloatSemantics(),
                                   random.bits() & 1, &payload)
                .bitcastToAPInt());
}

Memory::Memory(const Argument &argument, ArrayRef<int64_t> extents, bool spread,
               Random &random)
    : argument(argument), extents(extents), bytes(argument.elementBytes()),
      strides(extents.size()) {
  int64_t stride = spread && !argument.isDense() ? 2 : 1;
  for (size_t d = extents.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * extents[d] + 3 + random.below(6);
  }
  // Some rows, and some elements.
  origin = 5 * strides[0] + 64 + random.below(16);
  count = origin + stride + origin;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (count * bytes + page - 1) / page * page;
  void *all = mmap(nullptr, kGuard + size + kGuard, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED)
    llvm::report_fatal_error("no memory for @" + llvm::Twine(argument.name));
  reserved = static_cast<char *>(all);
  if (mprotect(reserved + kGuard, size, PROT_READ | PROT_WRITE))
    llvm::report_fatal_error("no memory for @" + llvm::Twine(argument.name));
  area = reserved + kGuard;
  living().push_back(this);
}

Memory::Memory(Memory &&other)
    : argument(other.argument), extents(other.extents),
      reserved(std::exchange(other.reserved, nullptr)), area(other.area),
      bytes(other.bytes), count(other.count), origin(other.origin),
      strides(other.strides) {
  std::replace(living().begin(), living().end(), &other, this);
}

Memory::~Memory() {
  if (!reserved)
    return;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  munmap(reserved, kGuard + (count * bytes + page - 1) / page * page + kGuard);
  llvm::erase(living(), this);
}

int64_t Memory::numberOf(ArrayRef<int64_t> index) const {
  int64_t number = origin;
  for (auto [i, stride] : llvm::zip(index, strides))
    number += i * stride;
  return number;
}

Index Memory::indexOf(int64_t number) const {
  int64_t rest = number - origin;
  Index index;
  for (int64_t stride : strides) {
    index.push_back(llvm::divideFloorSigned(rest, stride));
    rest -= index.back() * stride;
  }
  return index;
}

void Memory::append(const Box &box, std::vector<int64_t> &words) {
  int64_t pointer = reinterpret_cast<int64_t>(area) + numberOf(box.low) * bytes;
  words.insert(words.end(), {pointer, pointer, 0});
  // As programs pass it: below 0 for a box that begins behind the value.
  for (auto [low, high] : llvm::zip(box.low, box.high))
    words.push_back(high - low);
  llvm::append_range(words, strides);
}

const Memory *Memory::at(const void *address) {
  const char *place = static_cast<const char *>(address);
  for (const Memory *memory : living())
    if (place >= memory->reserved &&
        place < memory->area + memory->sizeInBytes() + kGuard)
      return memory;
  return nullptr;
}

int64_t Memory::numberOf(const void *address) const {
  return llvm::divideFloorSigned(static_cast<const char *>(address) - area,
                                 int64_t(bytes));
}
