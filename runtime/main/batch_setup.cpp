//===- batch_setup.cpp - what a program of many sequences starts with -----===//

#include "runtime/main/batch_setup.h"

#include "runtime/comm/mesh.h"
#include "runtime/decode/stop_tokens.h"
#include "runtime/error.h"
#include "runtime/main/free_memory.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/table.h"
#include "runtime/main/text_tokens.h"
#include "runtime/main/weights.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

namespace baton {

uint64_t choose_pages(const Metadata &metadata,
                      const std::optional<std::string> &kv_memory,
                      bool may_offload) {
  const BatchDescription &batch = *metadata.batch;
  // Slots are 32-bit numbers.
  constexpr uint64_t most =
      std::numeric_limits<int32_t>::max() / page_positions;
  constexpr uint64_t least = 2;
  const uint64_t full = std::max(least, uint64_t(batch.max_sequences) *
                                            pages_of(batch.max_positions));
  const uint64_t page_bytes =
      batch.page_bytes * Mesh::parse(metadata.json).ranks();
  uint64_t pages = full;
  const std::optional<uint64_t> memory =
      may_offload ? std::nullopt : free_memory();
  if (kv_memory)
    pages = std::min(most,
                     parse_memory_size("--kv-memory", *kv_memory) / page_bytes);
  else if (memory)
    pages = std::min(full, *memory / 2 / page_bytes);
  if (kv_memory && memory && pages * page_bytes > *memory)
    throw Error("--kv-memory: " + *kv_memory + " is more than the " +
                bytes_text(double(*memory)) +
                " of memory that are free; give less, or leave it out, for "
                "half of them or what all sequences take");
  if (pages < least)
    throw Error("--kv-memory: " +
                (kv_memory ? *kv_memory : "half of the memory that is free") +
                " is less than 2 pages of " + bytes_text(double(page_bytes)) +
                "; give more");
  return std::min(pages, most);
}

BatchFormat read_batch_format(const Metadata &metadata, const RunOptions &run) {
  const std::filesystem::path path = weights_path(run);
  BatchFormat format;
  format.stop_tokens = read_stop_tokens(path);
  try {
    TextTokens text =
        find_text_tokens(path, metadata.vocabulary,
                         {"prompts", "tokens instead of text"}, !run.quiet);
    format.tokenizer = std::move(text.tokenizer);
    format.bytes = text.bytes;
  } catch (const Error &failure) {
    // Requests may do without.
    format.no_tokenizer = failure.what();
  }
  return format;
}

} // namespace baton
