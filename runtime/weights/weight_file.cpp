//===- weight_file.cpp - a mapped file of tensors ------------------------===//

#include "runtime/weights/weight_file.h"

#include "runtime/error.h"
#include "runtime/weights/companions.h"
#include "runtime/weights/descriptor.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace baton {

WeightFile::WeightFile(const std::filesystem::path &path, uint64_t least,
                       std::string_view kind)
    : file_path(path) {
  std::string file = path.string();
  // Not blocking, so that a pipe of that name cannot hang the program.
  Descriptor descriptor{
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (descriptor.value < 0 || fstat(descriptor.value, &status) != 0)
    throw Error(file + ": cannot open: " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    throw Error(file + ": is not a regular file");
  auto bytes = static_cast<uint64_t>(status.st_size);
  change_time =
      int64_t(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
  if (bytes < least)
    throw Error(file + ": " + std::to_string(bytes) +
                " bytes are too short for a " + std::string(kind) + " file");
  void *address =
      mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor.value, 0);
  if (address == MAP_FAILED)
    throw Error(file + ": cannot map: " + std::strerror(errno));
  base = static_cast<const std::byte *>(address);
  size = bytes;
}

WeightFile::~WeightFile() {
  if (base)
    munmap(const_cast<std::byte *>(base), size);
}

static void advise(std::span<const std::byte> bytes, int advice) {
  uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  uintptr_t end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  if (!bytes.empty())
    madvise(reinterpret_cast<void *>(begin), end - begin, advice);
}

static void advise(const Tensor &tensor, int advice) {
  advise({tensor.data, tensor.bytes}, advice);
  if (tensor.companions)
    for (std::span<const std::byte> bytes : tensor.companions->extents)
      advise(bytes, advice);
}

void WeightFile::prefetch(const Tensor &tensor) const {
  advise(tensor, MADV_WILLNEED);
}

void WeightFile::release(const Tensor &tensor) const {
  advise(tensor, MADV_DONTNEED);
}

void check_overlaps(const std::string &file, const TensorMap &tensors) {
  std::vector<const TensorMap::value_type *> order;
  for (const auto &item : tensors)
    if (item.second.bytes)
      order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return a->second.data < b->second.data;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const Tensor &previous = order[i - 1]->second;
    if (order[i]->second.data < previous.data + previous.bytes)
      throw Error(file + ": tensors " + quote_name(order[i - 1]->first) +
                  " and " + quote_name(order[i]->first) + " overlap");
  }
}

} // namespace baton
