//===- HostProgram.cpp - what the host does in a step of several ranks ----===//

#include "codegen/cuda/HostProgram.h"

#include "codegen/cuda/KernelForms.h"
#include "codegen/cuda/OverlappedExchanges.h"
#include "codegen/cuda/Spelling.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;
using namespace baton::cuda;

namespace {

class HostProgramEmitter {
public:
  HostProgramEmitter(const plan::ProgramLayout &layout,
                     const SourceOptions &options, raw_ostream &os)
      : layout(layout), options(options), os(os) {}

  Error emit();

private:
  Error emitSegment(SegmentOp segment);
  Error emitExchange(PhaseOp phase, ExchangeOp exchange,
                     const std::string &place);
  void emitCountUps();
  std::string countOf(PhaseOp phase);
  std::string tablesOf(SegmentOp segment, ExchangeOp exchange);
  std::string address(SegmentOp segment, mlir::FlatSymbolRefAttr name);

  const plan::ProgramLayout &layout;
  const SourceOptions &options;
  raw_ostream &os;
  /// Of the segment's first phase.
  int64_t firstPlace = 0;
};

} // namespace

Error HostProgramEmitter::emit() {
  ProgramOp program = layout.program;
  os << "// The host's side of a step of @" << program.getSymName();
  if (options.overlapsExchanges) {
    os << ": what NCCL is asked for, on a stream beside\n"
          "// the kernel. Proved with the plan:\n";
    for (const std::string &obligation :
         overlapObligations(layout, options.ncclMultiprocessors))
      os << "// - " << obligation << "\n";
  } else {
    os << ": launches of the kernel up to where ranks\n"
          "// exchange tensors, and what NCCL is asked for there.\n";
  }
  os << "\n"
        "#include \"runtime/cuda/host_program.h\"\n\n"
        "using namespace baton;\n\n"
        "extern \"C\" void "
     << options.kernel
     << "_host(baton::HostStep &step) {\n"
        "  [[maybe_unused]] const int64_t rows = step.rows, past = step.past,\n"
        "                                outputs = step.outputs;\n";
  for (auto segment : program.getBody().getOps<SegmentOp>()) {
    if (Error error = emitSegment(segment))
      return error;
    firstPlace += placesOf(segment);
  }
  if (options.overlapsExchanges)
    emitCountUps();
  else
    os << "  step.launch_until(" << firstPlace << ");\n";
  os << "}\n";
  return Error::success();
}

/// What words of exchanges have counted up to in a step, as the kernel's
/// workers count.
void HostProgramEmitter::emitCountUps() {
  os << "  // The next step's words count from there.\n";
  for (PhaseOp phase : phasesOf(layout.program))
    for ([[maybe_unused]] auto exchange :
         phase.getBody().getOps<ExchangeOp>()) {
      auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
      os << "  step.count_up(" << exchangeWord(phase, layout) << ", "
         << countOf(phase);
      if (segment.getRepeat() != 1)
        os << " * " << segment.getRepeat();
      os << ");\n";
    }
}

/// What an iteration of the phase adds to its word.
std::string HostProgramEmitter::countOf(PhaseOp phase) {
  std::optional<NotifyAttr> notify = phase.getNotify();
  TensorOp tensor = layout.events.find(notify->getEvent().getAttr())->second.op;
  return spell(tensor.getCount().getResult(0));
}

Error HostProgramEmitter::emitSegment(SegmentOp segment) {
  auto phases = to_vector(segment.getBody().getOps<PhaseOp>());
  if (all_of(phases, [](PhaseOp phase) {
        return phase.getBody().getOps<ExchangeOp>().empty();
      }))
    return Error::success();
  int64_t repeat = segment.getRepeat();
  os << "  // " << segment.getName() << "\n";
  if (repeat > 1)
    os << "  for (uint64_t iteration = 0; iteration < " << repeat
       << "; ++iteration) {\n";
  else
    os << "  if (const uint64_t iteration = 0; true) {\n";
  for (auto [number, phase] : enumerate(phases))
    for (auto exchange : phase.getBody().getOps<ExchangeOp>()) {
      Sum place;
      place.add(firstPlace + int64_t(number));
      if (repeat > 1)
        place.add("iteration", phases.size());
      if (Error error = emitExchange(phase, exchange, place.text()))
        return error;
    }
  os << "  }\n";
  return Error::success();
}

static std::string bytesOf(mlir::AffineExpr elements, int64_t bytes) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(elements))
    return std::to_string(constant.getValue() * bytes);
  return "uint64_t(" + spell(elements) + ") * " + std::to_string(bytes);
}

Error HostProgramEmitter::emitExchange(PhaseOp phase, ExchangeOp exchange,
                                       const std::string &place) {
  auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
  std::string conditions;
  for (const std::string &extent : spell(phase.getGrid()))
    if (extent != "1")
      conditions += (conditions.empty() ? "" : " && ") + extent + " >= 1";
  os << "    // " << phase.getName() << "\n    "
     << (conditions.empty() ? "" : "if (" + conditions + ") ")
     << "{\n"
        "      const BatonExchange tensors[] = {\n";
  int64_t ranks = exchange.countRanks();
  bool even = true;
  for (TransferAttr transfer : exchange.getTransfers()) {
    BufferOp send = layout.buffers.find(transfer.getSend().getAttr())->second;
    int64_t bytes = send.getElement().getIntOrFloatBitWidth() / 8;
    BufferOp receive =
        layout.buffers.find(transfer.getReceive().getAttr())->second;
    even &= mlir::simplifyAffineExpr(transfer.getElementCount() -
                                         transfer.getPartCount() * ranks,
                                     /*numDims=*/0, kStepSymbols) == 0;
    os << "          {" << address(segment, transfer.getSend()) << ", "
       << address(segment, transfer.getReceive()) << ", "
       << bytesOf(transfer.getElementCount(), bytes) << ", "
       << bytesOf(transfer.getPartCount(), bytes) << ", "
       << receive.getStrides()[0] * bytes << tablesOf(segment, exchange)
       << "}, // @" << transfer.getSend().getValue() << "\n";
  }
  if (phase.getAhead())
    return createStringError("phase '" + phase.getName() +
                             "': an exchange that is ahead on CUDA targets is "
                             "not built yet");
  std::string function;
  switch (exchange.getKind()) {
  case ExchangeKind::all_to_all:
    function = "nccl_all_to_all<" + std::to_string(ranks) + ">";
    break;
  case ExchangeKind::all_gather:
    function = even ? "nccl_all_gather"
                    : "nccl_all_gather_uneven<" + std::to_string(ranks) + ">";
    break;
  case ExchangeKind::dispatch:
    function = "nccl_rows<" + std::to_string(ranks) + ", true>";
    break;
  case ExchangeKind::combine:
    function = "nccl_rows<" + std::to_string(ranks) + ", false>";
    break;
  }
  os << "      };\n";
  if (options.overlapsExchanges)
    os << "      step.wait_for_task();\n";
  else
    os << "      step.launch_until(" << place << ");\n";
  os << "      baton::" << function << "(step, "
     << layout.collectives.lookup(exchange) << ", iteration, tensors);\n";
  if (options.overlapsExchanges)
    os << "      step.notify(" << exchangeWord(phase, layout)
       << ", (iteration + 1) * " << countOf(phase) << ");\n";
  os << "    }\n";
  return Error::success();
}

/// Where the tables lie by which rows go to experts, and how many of these a
/// rank has.
std::string HostProgramEmitter::tablesOf(SegmentOp segment,
                                         ExchangeOp exchange) {
  if (!exchange.movesRows())
    return "";
  std::string text;
  for (mlir::Attribute table : exchange.getTablesAttr())
    text += ",\n           reinterpret_cast<const int32_t *>(" +
            address(segment, mlir::cast<mlir::FlatSymbolRefAttr>(table)) + ")";
  BufferOp received =
      layout.buffers.find(exchange.getTable(ExchangeOp::received).getAttr())
          ->second;
  return text + ", " + std::to_string(received.getCapacity()[0] - 2);
}

/// Where the buffer begins, in the iteration's layer.
std::string HostProgramEmitter::address(SegmentOp segment,
                                        mlir::FlatSymbolRefAttr name) {
  BufferOp buffer = layout.buffers.find(name.getAttr())->second;
  int64_t bytes = buffer.getElement().getIntOrFloatBitWidth() / 8;
  Sum offset;
  offset.add(int64_t(buffer.getOffset()) * bytes);
  if (buffer.getLayers() > 1) {
    std::string copy =
        segment.getReverse()
            ? "(" + std::to_string(segment.getRepeat() - 1) + " - iteration)"
            : "iteration";
    if (buffer.getRing())
      copy = "(" + copy + " % " + std::to_string(buffer.getLayers()) + ")";
    offset.add(copy, int64_t(buffer.getLayerStride()) * bytes);
  }
  int64_t storage =
      layout.storages.find(buffer.getStorageAttr().getAttr())->second.index;
  return "step.at(" + std::to_string(storage) + ", " + offset.text() + ")";
}

Expected<std::string> cuda::emitHostProgram(const plan::ProgramLayout &layout,
                                            const SourceOptions &options) {
  std::string text;
  raw_string_ostream os(text);
  if (Error error = HostProgramEmitter(layout, options, os).emit())
    return std::move(error);
  return text;
}
