//===- Words.cpp - names and numbers for readers --------------------------===//

#include "compiler/explain/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cmath>

using namespace baton;
using namespace baton::explain;

static std::string significant(double value) {
  int decimals = value == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", decimals, value);
  return text;
}

std::string explain::bytesText(double bytes) {
  if (bytes < 1024)
    return std::to_string(static_cast<int64_t>(bytes)) + " B";
  const char *unit = "";
  for (const char *next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1000)
      break;
    bytes /= 1024;
    unit = next;
  }
  return significant(bytes) + " " + unit;
}

std::string explain::flopsText(double flops) {
  if (flops < 1000)
    return std::to_string(static_cast<int64_t>(flops)) + " FLOP";
  const char *unit = "";
  for (const char *next : {"k", "M", "G", "T"}) {
    if (flops < 1000)
      break;
    flops /= 1000;
    unit = next;
  }
  return significant(flops) + " " + unit + "FLOP";
}

std::string explain::timeText(double microseconds) {
  if (microseconds < 1000)
    return significant(microseconds) + " us";
  if (microseconds < 1e6)
    return significant(microseconds / 1e3) + " ms";
  return significant(microseconds / 1e6) + " s";
}

std::string explain::percentText(double fraction) {
  return std::to_string(static_cast<int>(std::lround(100 * fraction))) + " %";
}

std::string explain::plural(int64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string explain::listText(const std::vector<std::string> &items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

std::string explain::affineText(mlir::AffineExpr expression) {
  std::string printed;
  llvm::raw_string_ostream(printed) << expression;
  static const std::array<const char *, 4> coordinates = {"i", "j", "k", "l"};
  static const std::array<const char *, 3> symbols = {"rows", "past",
                                                      "outputs"};
  std::string text;
  for (size_t at = 0; at < printed.size();) {
    bool begins = at == 0 || !llvm::isAlnum(printed[at - 1]);
    size_t end = at + 1;
    while (end < printed.size() && llvm::isDigit(printed[end]))
      ++end;
    bool isName = begins && (printed[at] == 'd' || printed[at] == 's') &&
                  end > at + 1 &&
                  (end == printed.size() || !llvm::isAlnum(printed[end]));
    if (!isName) {
      text += printed[at++];
      continue;
    }
    unsigned index = std::stoul(printed.substr(at + 1, end - at - 1));
    if (printed[at] == 's' && index < symbols.size())
      text += symbols[index];
    else if (printed[at] == 'd' && index < coordinates.size())
      text += coordinates[index];
    else
      text += printed.substr(at, end - at);
    at = end;
  }
  return text;
}

std::string explain::affineText(mlir::AffineMap map) {
  std::string text;
  for (mlir::AffineExpr result : map.getResults())
    text += (text.empty() ? "" : ", ") + affineText(result);
  return text;
}

std::string explain::shortName(event::PhaseOp phase) {
  auto segment = mlir::cast<event::SegmentOp>(phase->getParentOp());
  llvm::StringRef name = phase.getName();
  // A second stack of the same layers is "layers.2", its phases "layers.x.2".
  llvm::StringRef stack = segment.getName();
  auto [base, number] = stack.rsplit('.');
  if (!number.empty() && llvm::all_of(number, llvm::isDigit))
    stack = base;
  std::string prefix = (stack + ".").str();
  if (name.starts_with(prefix) && name.size() > prefix.size())
    name = name.drop_front(prefix.size());
  return name.str();
}

CoordinateMeaning explain::meaningOf(event::PhaseOp phase,
                                     unsigned coordinate) {
  // A phase that writes nothing is told by what it reads.
  for (bool write : {true, false})
    for (event::AccessAttr access : phase.getAccessAttrs()) {
      if (access.getWrite() != write)
        continue;
      unsigned rank = access.getLow().getNumResults();
      for (unsigned d = 0; d < rank; ++d)
        if (access.getLow().getResult(d).isFunctionOfDim(coordinate))
          return {d == 0          ? "rows"
                  : d + 1 == rank ? "columns"
                  : d == 1        ? "heads"
                                  : "blocks",
                  access, d};
    }
  return {"tiles", {}, 0};
}
