//===- memory_size.cpp - sizes as people write them -----------------------===//

#include "runtime/main/memory_size.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <charconv>
#include <string_view>

namespace baton {

uint64_t parse_memory_size(const std::string &flag, const std::string &text) {
  double number = 0;
  const char *const text_end = text.data() + text.size();
  auto [end, failure] = std::from_chars(text.data(), text_end, number);
  const std::string_view unit(end, static_cast<size_t>(text_end - end));
  double scale = 1;
  for (std::string_view name : {"", "KiB", "MiB", "GiB", "TiB"}) {
    if (failure == std::errc() && number >= 0 && unit == name &&
        number * scale < 0x1p63)
      return static_cast<uint64_t>(number * scale);
    scale *= 1024;
  }
  throw Error(flag + ": " + quote_name(text) +
              " is not a size as in 512MiB or 4GiB");
}

} // namespace baton
