//===- ProgramTypes.h - runtime/program.h as LLVM types -------------------===//

#ifndef BATON_CODEGEN_CPU_PROGRAMTYPES_H
#define BATON_CODEGEN_CPU_PROGRAMTYPES_H

#include "llvm/IR/DerivedTypes.h"

namespace baton::cpu {

/// The structures and function types of the program's binary interface. A test
/// holds sizes and offsets against the C++ header.
struct ProgramTypes {
  explicit ProgramTypes(llvm::LLVMContext &context);

  /// Fields of BatonStep.
  enum StepField : unsigned { Rows, Past, Outputs };
  /// Fields of BatonExchange.
  enum ExchangeField : unsigned {
    Send,
    Receive,
    Bytes,
    Part,
    Distance,
    Bounds,
    Counts,
    Received,
    Experts
  };
  /// Fields of BatonMessage.
  enum MessageField : unsigned { Data, TensorRows, RowBytes, Stride };
  /// Fields of BatonWorker.
  enum WorkerField : unsigned { Scratch, Bases };
  /// Fields of BatonContext. The border begins a line, which is its own.
  enum ContextField : unsigned {
    Parameters,
    Storages,
    Events,
    Workers,
    Tokens,
    Steps,
    Advance,
    Observe,
    Trace,
    Exchange,
    Message,
    Tier,
    Host,
    Touches,
    UpToTheLine,
    Border
  };

  llvm::StructType *step;
  llvm::StructType *worker;
  llvm::StructType *context;
  llvm::StructType *exchanged;
  llvm::StructType *tensor;
  /// void(context, current, next, logits, stride, vocabulary)
  llvm::FunctionType *advance;
  /// void(context, phase, iteration, step)
  llvm::FunctionType *observe;
  /// void(context, worker, phase, iteration, task, begin, ready)
  llvm::FunctionType *trace;
  /// void(context, collective, iteration, tensors, count)
  llvm::FunctionType *exchange;
  /// void(context, worker, phase, iteration, task)
  llvm::FunctionType *beginTask;
  /// void(buffer, number, storage, writes, first, rows, row_stride, row_bytes)
  llvm::FunctionType *declareAccess;
  /// void(context, buffer, number, storage, writes, first, begin, end, heads,
  /// width, columns, element_bytes, page_bytes)
  llvm::FunctionType *declarePages;
  /// void(context, message, tensors, count)
  llvm::FunctionType *message;
  /// void(context, phase, layer)
  llvm::FunctionType *tier;
  /// void(context, worker, workers)
  llvm::FunctionType *program;
};

/// Distance of two event words in memory, in words: each has a cache line.
constexpr int64_t kEventWordStride = 16;

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_PROGRAMTYPES_H
