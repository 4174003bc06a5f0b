//===- block_writer.h - quantised weights as files have them, written -----===//

#ifndef BATON_TOOLS_QUANTIZE_BLOCK_WRITER_H
#define BATON_TOOLS_QUANTIZE_BLOCK_WRITER_H

#include "runtime/weights/stored_blocks.h"

#include <cstddef>

namespace baton {

/// Writes a block of a quantised type: read_block() gives the same numbers
/// back. Not of IQ4_NL.
void write_block(DataType type, const StoredNumbers &numbers, std::byte *block);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_BLOCK_WRITER_H
