//===- tool_format_table.h - the formats there are, and their signs -------===//

#ifndef BATON_RUNTIME_CHAT_TOOL_FORMAT_TABLE_H
#define BATON_RUNTIME_CHAT_TOOL_FORMAT_TABLE_H

#include "runtime/chat/tool_marks.h"

#include <string>
#include <vector>

namespace baton {

struct KnownFormat {
  ToolFormat format;
  /// A template has the format if it contains all texts of one of the lists.
  std::vector<std::vector<std::string>> signs;
};

/// Those whose signs are part of another's signs come later.
std::vector<KnownFormat> known_formats();

} // namespace baton

#endif // BATON_RUNTIME_CHAT_TOOL_FORMAT_TABLE_H
