//===- LogitStream.cpp - logits of a program, as they come ----------------===//

#include "compiler/comparison/LogitStream.h"

#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::comparison;
using llvm::Error;
using llvm::Expected;

/// A header is less than this, whatever its numbers are.
static constexpr size_t kLongestHeader = 4096;

Error LogitStream::readHeader() {
  std::string text;
  char letter = 0;
  while (true) {
    if (Error error = program.read(&letter, 1))
      return error;
    if (letter == '\n')
      break;
    text += letter;
    if (text.size() > kLongestHeader)
      return program.fail("does not write logits");
  }
  auto header = nlohmann::json::parse(text, nullptr,
                                      /*allow_exceptions=*/false);
  auto number = [&](const char *key) {
    auto found = header.is_object() ? header.find(key) : header.end();
    return found != header.end() && found->is_number_unsigned()
               ? found->get<size_t>()
               : size_t(0);
  };
  row.resize(number("vocabulary"));
  windowCount = number("windows");
  contextTokens = number("context");
  rowCount = number("rows");
  if (!header.is_object() || header.value("format", "") != "baton-logits" ||
      number("version") != 1 || row.empty() || !windowCount || !rowCount ||
      rowCount >= contextTokens)
    return program.fail(
        "does not write logits as this batonc reads them; compile it anew");
  allTokens.resize(windowCount * contextTokens);
  return program.read(allTokens.data(), allTokens.size() * sizeof(int32_t));
}

Expected<LogitStream>
LogitStream::start(const link::Scratch &scratch, const std::string &file,
                   const std::string &name,
                   llvm::ArrayRef<std::string> arguments) {
  auto program = link::RunningProgram::start(scratch, file, name, arguments);
  if (!program)
    return program.takeError();
  LogitStream stream(std::move(*program));
  if (Error error = stream.readHeader())
    return std::move(error);
  return stream;
}

Expected<llvm::ArrayRef<float>> LogitStream::next() {
  if (Error error = program.read(row.data(), row.size() * sizeof(float)))
    return std::move(error);
  return row;
}

Error LogitStream::finish() { return program.finish(); }
