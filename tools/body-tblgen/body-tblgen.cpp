//===- body-tblgen.cpp - what is made of the declarations of task bodies --===//
//
// Reads codegen/bodies/*.td (see Body.td) and writes one of:
//   -gen-declarations       the C declarations of a task library
//   -gen-calls              a class of accessors for the calls of each body
//   -gen-table              what is known of each body, as data and functions
//   -gen-reference          docs/reference/bodies.md
//   -gen-list               -line for each function, with its $name, $operator
//                           and $libraries; -class names whose bodies only
// With -library, declarations and lists are of the bodies that it has.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"

using namespace llvm;

namespace {

enum class Action { declarations, calls, table, reference, list };

cl::opt<Action> action(
    cl::desc("What to write:"),
    cl::values(
        clEnumValN(Action::declarations, "gen-declarations",
                   "The C declarations of a task library"),
        clEnumValN(Action::calls, "gen-calls",
                   "A class of accessors for each body's calls"),
        clEnumValN(Action::table, "gen-table", "What is known of each body"),
        clEnumValN(Action::reference, "gen-reference", "The reference page"),
        clEnumValN(Action::list, "gen-list", "A line for each function")),
    cl::Required);
cl::opt<std::string> prefix("prefix", cl::init("void"),
                            cl::desc("What a declaration begins with"));
cl::opt<std::string>
    line("line", cl::init("$operator $name"),
         cl::desc("What -gen-list writes of a function, by its "
                  "$name, $operator and $libraries"));
cl::opt<std::string> library("library",
                             cl::desc("Of which library bodies are listed"));
cl::opt<std::string> className("class", cl::init("Body"),
                               cl::desc("Of which class bodies are listed"));
cl::opt<std::string> real("real", cl::init("Real"),
                          cl::desc("The type of a library's numbers"));

struct Operand {
  Operand(std::string name, const Record *record)
      : name(std::move(name)), record(record) {}

  StringRef role() const { return record->getValueAsString("role"); }
  StringRef type() const { return record->getValueAsString("cType"); }
  bool isNullable() const { return record->getValueAsBit("nullable"); }
  bool isPointer() const { return type().ends_with("*"); }
  std::vector<StringRef> shape() const {
    return record->getValueAsListOfStrings("shape");
  }
  /// As an accessor is called.
  std::string camel() const {
    return convertToCamelFromSnakeCase(name, /*capitalizeFirst=*/false);
  }
  std::string enumerator() const {
    return "k" + convertToCamelFromSnakeCase(name, /*capitalizeFirst=*/true);
  }

  std::string name;
  const Record *record;
};

class Body {
public:
  explicit Body(const Record *record) : record(record) {
    const DagInit *dag = record->getValueAsDag("operands");
    for (unsigned i = 0; i < dag->getNumArgs(); ++i) {
      auto *def = dyn_cast<DefInit>(dag->getArg(i));
      if (!def || !dag->getArgName(i))
        PrintFatalError(record->getLoc(),
                        "operand " + Twine(i) + " has no role or no name");
      operands.emplace_back(dag->getArgNameStr(i).str(), def->getDef());
    }
    std::vector<StringRef> names;
    for (const Operand &operand : operands) {
      if (is_contained(names, operand.name))
        PrintFatalError(record->getLoc(),
                        "two operands are called '" + operand.name + "'");
      names.push_back(operand.name);
    }
    for (StringRef name : record->getValueAsListOfStrings("inPlace"))
      if (!find(name))
        PrintFatalError(record->getLoc(),
                        "inPlace names '" + name + "', which is no operand");
  }

  StringRef name() const { return record->getValueAsString("name"); }
  bool isOf(StringRef className) const {
    return record->isSubClassOf(className);
  }
  std::vector<StringRef> libraries() const {
    return record->getValueAsListOfStrings("libraries");
  }
  /// Whether it is in the library that was asked for, if one was.
  bool isListed() const {
    return library.empty() || is_contained(libraries(), library);
  }
  /// "LinearCall".
  std::string className() const {
    return convertToCamelFromSnakeCase(name(), /*capitalizeFirst=*/true) +
           "Call";
  }
  std::string functionName(const Record *variant) const {
    return (name() + variant->getValueAsString("suffix")).str();
  }
  std::vector<Record *> variants() const {
    return record->getValueAsListOfDefs("variants");
  }
  const Operand *find(StringRef operand) const {
    auto found = llvm::find_if(
        operands, [&](const Operand &o) { return o.name == operand; });
    return found == operands.end() ? nullptr : &*found;
  }
  /// The file that declares it, "linear".
  std::string stem() const {
    unsigned buffer = SrcMgr.FindBufferContainingLoc(record->getLoc().front());
    return sys::path::stem(
               SrcMgr.getMemoryBuffer(buffer)->getBufferIdentifier())
        .str();
  }

  /// Where the distance along a dimension comes from: an operand, a number, or
  /// "" where elements are dense, or lie as a state does.
  std::string stride(const Operand &operand, unsigned dimension) const {
    std::vector<StringRef> strides =
        operand.record->getValueAsListOfStrings("strides");
    size_t rank = operand.shape().size();
    if (!strides.empty()) {
      if (strides.size() != rank)
        PrintFatalError(record->getLoc(), "operand '" + operand.name +
                                              "' has no stride a dimension");
      return strides[dimension].str();
    }
    StringRef name = operand.name;
    if (operand.role() == "State" || operand.role() == "Keys")
      name.consume_back("s");
    std::string own = (name + "_stride").str();
    if (rank == 2 && dimension == 0 && find(own))
      return own;
    return dimension + 1 == rank ? "1" : "";
  }

  /// A formula as C++, each operand replaced by what `spell` makes of it.
  std::string
  translate(StringRef formula,
            function_ref<std::string(const Operand &)> spell) const {
    std::string text;
    while (!formula.empty()) {
      if (!isAlpha(formula.front())) {
        text += formula.front();
        formula = formula.drop_front();
        continue;
      }
      StringRef word =
          formula.take_while([](char c) { return isAlnum(c) || c == '_'; });
      formula = formula.drop_front(word.size());
      if (const Operand *operand = find(word))
        text += spell(*operand);
      else if (formula.starts_with("("))
        text += word;
      else
        PrintFatalError(record->getLoc(),
                        "formula names '" + word + "', which is no operand");
    }
    return text;
  }

  const Record *record;
  std::vector<Operand> operands;
};

std::vector<Body> bodiesOf(const RecordKeeper &records) {
  std::vector<Body> bodies;
  for (const Record *record : records.getAllDerivedDefinitions("Body"))
    bodies.emplace_back(record);
  // As they stand in their files, and files by name.
  llvm::sort(bodies, [](const Body &a, const Body &b) {
    std::string left = a.stem(), right = b.stem();
    if (left != right)
      return left < right;
    return a.record->getLoc().front().getPointer() <
           b.record->getLoc().front().getPointer();
  });
  return bodies;
}

void writeBanner(raw_ostream &os) {
  os << "// Made of codegen/bodies/*.td by tools/body-tblgen; do not edit.\n\n";
}

/// A description without the indentation that all its lines share.
std::string textOf(const Body &body) {
  SmallVector<StringRef> lines;
  body.record->getValueAsString("description").split(lines, '\n');
  size_t indent = StringRef::npos;
  for (StringRef line : lines)
    if (!line.trim().empty())
      indent = std::min(indent, line.size() - line.ltrim().size());
  std::string text;
  for (StringRef line : lines)
    text += (line.trim().empty() ? "" : line.drop_front(indent).rtrim().str()) +
            "\n";
  return StringRef(text).trim().str();
}

std::string cTypeOf(const Operand &operand, const Record *variant) {
  std::string type = operand.type().str();
  auto replace = [&](StringRef word, StringRef by) {
    if (size_t at = StringRef(type).find(word); at != StringRef::npos)
      type = type.substr(0, at) + by.str() + type.substr(at + word.size());
  };
  replace("Element", variant->getValueAsString("element"));
  replace("Real", real);
  return type;
}

void writeDeclarations(const std::vector<Body> &bodies, raw_ostream &os) {
  writeBanner(os);
  for (const Body &body : bodies) {
    if (!body.isListed())
      continue;
    SmallVector<StringRef> lines;
    std::string text = textOf(body);
    StringRef(text).split(lines, '\n');
    for (StringRef line : lines)
      os << (line.empty() ? "///" : "/// ") << line << "\n";
    for (const Record *variant : body.variants()) {
      os << prefix << " baton_task_" << body.functionName(variant) << "(";
      interleaveComma(body.operands, os, [&](const Operand &operand) {
        std::string type = cTypeOf(operand, variant);
        os << type << (operand.isPointer() ? "" : " ") << operand.name;
      });
      os << ");\n";
    }
    os << "\n";
  }
}

void writeCalls(const std::vector<Body> &bodies, raw_ostream &os) {
  writeBanner(os);
  for (const Body &body : bodies) {
    os << "class " << body.className() << " : public TaskCall {\npublic:\n"
       << "  using TaskCall::TaskCall;\n"
       << "  static constexpr Kind kKind = Kind::" << body.name() << ";\n";
    for (auto [index, operand] : enumerate(body.operands))
      os << "  ::mlir::Attribute " << operand.camel()
         << "() const { return operand(" << index << "); }\n";
    os << "};\n\n";
  }
}

void writeList(const std::vector<Body> &bodies, raw_ostream &os) {
  for (const Body &body : bodies)
    for (const Record *variant : body.variants()) {
      if (!body.isOf(className) || !body.isListed())
        continue;
      StringRef rest = line;
      while (!rest.empty()) {
        if (rest.consume_front("$name"))
          os << body.functionName(variant);
        else if (rest.consume_front("$operator"))
          os << body.stem();
        else if (rest.consume_front("$libraries"))
          os << join(body.libraries(), ",");
        else {
          os << rest.front();
          rest = rest.drop_front();
        }
      }
      os << "\n";
    }
}

void writeStrings(raw_ostream &os, ArrayRef<StringRef> strings) {
  interleaveComma(strings, os, [&](StringRef s) { os << '"' << s << '"'; });
}

void writeSignatures(const std::vector<Body> &bodies, raw_ostream &os) {
  os << "#ifdef GET_BODY_KINDS\n";
  for (const Body &body : bodies)
    os << body.name() << ",\n";
  os << "#endif // GET_BODY_KINDS\n\n#ifdef GET_BODY_SIGNATURES\n";
  for (const Body &body : bodies) {
    os << "static constexpr OperandSignature k" << body.className()
       << "Operands[] = {\n";
    for (const Operand &operand : body.operands)
      os << "    {\"" << operand.name << "\", Role::" << operand.role() << ", "
         << (operand.isNullable() ? "true" : "false") << ", "
         << (operand.record->getValueAsBit("stored") ? "true" : "false")
         << "},\n";
    os << "};\n";
    std::vector<StringRef> inPlace =
        body.record->getValueAsListOfStrings("inPlace");
    if (!inPlace.empty()) {
      os << "static constexpr llvm::StringLiteral k" << body.className()
         << "InPlace[] = {";
      writeStrings(os, inPlace);
      os << "};\n";
    }
    os << "static constexpr llvm::StringLiteral k" << body.className()
       << "Libraries[] = {";
    writeStrings(os, body.libraries());
    os << "};\n";
  }
  os << "static constexpr Signature kSignatures[] = {\n";
  for (const Body &body : bodies) {
    bool hasAliases = !body.record->getValueAsListOfStrings("inPlace").empty();
    os << "    {\"" << body.name() << "\", k" << body.className()
       << "Operands, "
       << (hasAliases ? "k" + body.className() + "InPlace"
                      : std::string("llvm::ArrayRef<llvm::StringLiteral>()"))
       << ", " << (body.record->getValueAsBit("isProduct") ? "true" : "false")
       << ", k" << body.className() << "Libraries},\n";
  }
  os << "};\n";
  os << "static constexpr FunctionName kFunctions[] = {\n";
  for (const Body &body : bodies)
    for (const Record *variant : body.variants())
      os << "    {\"" << body.functionName(variant)
         << "\", Kind::" << body.name() << ", \""
         << variant->getValueAsString("suffix") << "\", \""
         << variant->getValueAsString("format") << "\"},\n";
  os << "};\n#endif // GET_BODY_SIGNATURES\n\n";
}

void writeTunings(const std::vector<Body> &bodies, raw_ostream &os) {
  os << "#ifdef GET_BODY_TUNINGS\n";
  for (const Body &body : bodies)
    for (const Record *tuning : body.record->getValueAsListOfDefs("tuned"))
      for (const Record *variant : tuning->getValueAsListOfDefs("variants"))
        os << "{\"" << body.functionName(variant) << "\", \""
           << tuning->getValueAsString("target") << "\", \""
           << tuning->getValueAsString("name") << "\"},\n";
  os << "#endif // GET_BODY_TUNINGS\n\n";
}

/// An operand's value, in formulas of numbers that may be large, and of others.
std::string asNumber(const Operand &operand) {
  return "double(at(call." + operand.camel() + "()))";
}
std::string asInteger(const Operand &operand) {
  return "at(call." + operand.camel() + "())";
}

/// How many elements a body reads of a weight.
std::string elementsOf(const Body &body, const Operand &operand) {
  if (StringRef own = operand.record->getValueAsString("elements");
      !own.empty())
    return body.translate(own, asInteger);
  std::string elements;
  for (StringRef extent : operand.shape())
    elements += (elements.empty() ? "" : " * ") +
                ("(" + body.translate(extent, asInteger) + ")");
  return elements;
}

void writeCosts(const std::vector<Body> &bodies, raw_ostream &os) {
  os << "#ifdef GET_BODY_COSTS\n";
  for (const Body &body : bodies) {
    os << "case Kind::" << body.name() << ": {\n"
       << "  [[maybe_unused]] " << body.className() << " call(op);\n";
    if (auto flops = body.record->getValueAsOptionalString("flops"))
      os << "  cost.flops = " << body.translate(*flops, asNumber) << ";\n";
    else
      os << "  return std::nullopt;\n";
    StringRef first = body.record->getValueAsString("firstStateRow");
    if (first != "0")
      os << "  cost.firstStateRow = " << body.translate(first, asInteger)
         << ";\n";
    for (const Operand &operand : body.operands) {
      if (operand.role() != "Weight" && operand.role() != "Matrix")
        continue;
      std::string elements = elementsOf(body, operand);
      os << "  read(call." << operand.camel() << "(), " << elements << ", "
         << (operand.record->getValueAsBit("gathered") ? "true" : "false")
         << ");\n";
    }
    os << "  break;\n}\n";
  }
  os << "#endif // GET_BODY_COSTS\n\n";
}

void writeRegions(const std::vector<Body> &bodies, raw_ostream &os) {
  os << "#ifdef GET_BODY_REGIONS\n";
  for (const Body &body : bodies) {
    os << "case Kind::" << body.name() << ": {\n"
       << "  [[maybe_unused]] " << body.className() << " call(op);\n";
    for (auto [index, operand] : enumerate(body.operands)) {
      if (operand.shape().empty() && operand.role() != "Flag")
        continue;
      os << "  region(" << index << ", "
         << body.translate(operand.record->getValueAsString("from"), asInteger)
         << ", {";
      for (auto [dimension, extent] : enumerate(operand.shape())) {
        std::string stride = body.stride(operand, dimension);
        const Operand *by = body.find(stride);
        os << (dimension ? ", " : "") << "{"
           << body.translate(extent, asInteger) << ", "
           << (by ? "call." + by->camel() + "()" : "::mlir::Attribute()")
           << "}";
      }
      os << "});\n";
    }
    os << "  break;\n}\n";
  }
  os << "#endif // GET_BODY_REGIONS\n\n#ifdef GET_BODY_WEIGHTS\n";
  for (const Body &body : bodies) {
    os << "case Kind::" << body.name() << ": {\n"
       << "  [[maybe_unused]] " << body.className() << " call(op);\n";
    for (auto [index, operand] : enumerate(body.operands))
      if ((operand.role() == "Weight" || operand.role() == "Matrix") &&
          !operand.record->getValueAsBit("gathered"))
        os << "  weight(" << index << ", " << elementsOf(body, operand)
           << ");\n";
    os << "  break;\n}\n";
  }
  os << "#endif // GET_BODY_WEIGHTS\n";
}

void writeTable(const std::vector<Body> &bodies, raw_ostream &os) {
  writeBanner(os);
  writeSignatures(bodies, os);
  writeTunings(bodies, os);
  writeCosts(bodies, os);
  writeRegions(bodies, os);
}

//===----------------------------------------------------------------------===//
// The reference page
//===----------------------------------------------------------------------===//

std::string roleText(const Body &body, const Operand &operand) {
  std::string text =
      StringSwitch<std::string>(operand.role())
          .Case("Output", "written")
          .Case("PartialOutput", "some of it written")
          .Case("Updated", "read and written")
          .Case("Accumulated", "added to, or written")
          .Case("Input", "read")
          .Case("PartialInput", "read as far as it is written")
          .Cases("State", "Keys", "read")
          .Cases("Weight", "Matrix", "weights")
          .Case("Integers", "i32, read")
          .Case("IntegerOutput", "i32, written")
          .Case("PartialIntegers", "i32, read as far as it is written")
          .Case("PartialIntegerOutput", "i32, some of it written")
          .Case("Flag", "flag")
          .Case("Scratch", "scratch")
          .Default("");
  if (operand.isNullable())
    text += ", may be null";
  std::vector<StringRef> shape = operand.shape();
  if (!shape.empty()) {
    text += ": `[";
    for (auto [i, extent] : enumerate(shape))
      text += (i ? ", " : "") + extent.str();
    text += "]`";
  } else if (StringRef elements = operand.record->getValueAsString("elements");
             !elements.empty()) {
    text += ": `" + elements.str() + "` elements";
  }
  if (is_contained(body.record->getValueAsListOfStrings("inPlace"),
                   operand.name))
    text += "; `" + body.operands.front().name + "` may be in its place";
  return text;
}

/// A call in lines of at most 90 characters.
void writeOperands(const Body &body, raw_ostream &os) {
  std::string line = (body.name() + "(").str();
  size_t indent = line.size();
  for (auto [i, operand] : enumerate(body.operands)) {
    std::string next =
        operand.name + (i + 1 < body.operands.size() ? "," : ")");
    if (line.size() + next.size() + 1 > 90) {
      os << line << "\n";
      line = std::string(indent, ' ');
    }
    line += (StringRef(line).ends_with(",") ? " " : "") + next;
  }
  os << line << "\n";
}

void writeReference(const std::vector<Body> &bodies, raw_ostream &os) {
  os << "<!-- Made of codegen/bodies/*.td; do not edit. -->\n\n"
        "# Task bodies\n\n"
        "Each body computes one tile of one operator. Calls in a plan "
        "(`event.call`) name a\nbody and list its operands in this order. The "
        "table says what is behind each\npointer: how many elements along each "
        "dimension, `NAME_stride` apart in the\noutermost; of packed weights, "
        "how many in all, where `overhead()` is what their form has\nfor each "
        "output besides weights. The conventions that all share, and the rules "
        "that\nfix their bits, stand in\n[codegen/cpu/library/library.h]"
        "(../../codegen/cpu/library/library.h).\n";
  std::string operatorName;
  for (const Body &body : bodies) {
    if (body.stem() != operatorName) {
      operatorName = body.stem();
      os << "\n## " << operatorName << "\n";
    }
    os << "\n### `" << body.name() << "`\n\n" << textOf(body) << "\n\n";
    os << "```\n";
    writeOperands(body, os);
    os << "```\n\n| pointer | |\n|---|---|\n";
    for (const Operand &operand : body.operands)
      if (operand.isPointer())
        os << "| `" << operand.name << "` | " << roleText(body, operand)
           << " |\n";
    os << "\n";
    std::vector<Record *> variants = body.variants();
    if (variants.size() > 1) {
      os << "Functions: ";
      interleaveComma(variants, os, [&](const Record *variant) {
        os << "`" << body.functionName(variant) << "`";
      });
      os << ".\n";
    }
    if (auto flops = body.record->getValueAsOptionalString("flops");
        flops && *flops != "0")
      os << "Operations: `" << *flops << "`.\n";
    if (body.libraries().size() == 1)
      os << "Only the " << body.libraries().front() << " library has it.\n";
    for (const Record *tuning : body.record->getValueAsListOfDefs("tuned")) {
      os << "Tuned for " << tuning->getValueAsString("target") << " ("
         << tuning->getValueAsString("name") << "): ";
      interleaveComma(tuning->getValueAsListOfDefs("variants"), os,
                      [&](const Record *variant) {
                        os << "`" << body.functionName(variant) << "`";
                      });
      os << ".\n";
    }
  }
}

bool writeAll(raw_ostream &os, RecordKeeper &records) {
  std::vector<Body> bodies = bodiesOf(records);
  switch (action) {
  case Action::declarations:
    writeDeclarations(bodies, os);
    break;
  case Action::calls:
    writeCalls(bodies, os);
    break;
  case Action::table:
    writeTable(bodies, os);
    break;
  case Action::reference:
    writeReference(bodies, os);
    break;
  case Action::list:
    writeList(bodies, os);
    break;
  }
  return false;
}

} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Writes what is made of task bodies");
  return TableGenMain(argv[0], writeAll);
}
