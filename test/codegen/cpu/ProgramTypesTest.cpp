//===- ProgramTypesTest.cpp - LLVM's view of program.h against C++'s ------===//

#include "codegen/cpu/ProgramTypes.h"
#include "codegen/cpu/Target.h"
#include "runtime/program.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Target/TargetMachine.h"

#include <gtest/gtest.h>

using namespace baton::cpu;

namespace {

class ProgramTypesTest : public testing::Test {
protected:
  ProgramTypesTest() : layout("") {
    Target target = llvm::cantFail(resolveTarget({}));
    layout = llvm::cantFail(createTargetMachine(target, 3))->createDataLayout();
  }
  uint64_t sizeOf(llvm::StructType *type) {
    return layout.getTypeAllocSize(type).getFixedValue();
  }
  uint64_t offsetOf(llvm::StructType *type, unsigned field) {
    return layout.getStructLayout(type)
        ->getElementOffset(field)
        .getFixedValue();
  }

  llvm::LLVMContext context;
  ProgramTypes types{context};
  llvm::DataLayout layout;
};

} // namespace

TEST_F(ProgramTypesTest, Step) {
  EXPECT_EQ(sizeOf(types.step), sizeof(BatonStep));
  EXPECT_EQ(offsetOf(types.step, ProgramTypes::Rows),
            offsetof(BatonStep, rows));
  EXPECT_EQ(offsetOf(types.step, ProgramTypes::Past),
            offsetof(BatonStep, past));
  EXPECT_EQ(offsetOf(types.step, ProgramTypes::Outputs),
            offsetof(BatonStep, outputs));
}

TEST_F(ProgramTypesTest, Worker) {
  EXPECT_EQ(sizeOf(types.worker), sizeof(BatonWorker));
  EXPECT_EQ(offsetOf(types.worker, ProgramTypes::Scratch),
            offsetof(BatonWorker, scratch));
  EXPECT_EQ(offsetOf(types.worker, ProgramTypes::Bases),
            offsetof(BatonWorker, bases));
}

TEST_F(ProgramTypesTest, Exchange) {
  EXPECT_EQ(sizeOf(types.exchanged), sizeof(BatonExchange));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Send),
            offsetof(BatonExchange, send));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Receive),
            offsetof(BatonExchange, receive));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Bytes),
            offsetof(BatonExchange, bytes));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Part),
            offsetof(BatonExchange, part));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Distance),
            offsetof(BatonExchange, distance));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Bounds),
            offsetof(BatonExchange, bounds));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Counts),
            offsetof(BatonExchange, counts));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Received),
            offsetof(BatonExchange, received));
  EXPECT_EQ(offsetOf(types.exchanged, ProgramTypes::Experts),
            offsetof(BatonExchange, experts));
}

TEST_F(ProgramTypesTest, Message) {
  EXPECT_EQ(sizeOf(types.tensor), sizeof(BatonMessage));
  EXPECT_EQ(offsetOf(types.tensor, ProgramTypes::Data),
            offsetof(BatonMessage, data));
  EXPECT_EQ(offsetOf(types.tensor, ProgramTypes::TensorRows),
            offsetof(BatonMessage, rows));
  EXPECT_EQ(offsetOf(types.tensor, ProgramTypes::RowBytes),
            offsetof(BatonMessage, row_bytes));
  EXPECT_EQ(offsetOf(types.tensor, ProgramTypes::Stride),
            offsetof(BatonMessage, stride));
}

TEST_F(ProgramTypesTest, Context) {
  EXPECT_EQ(sizeOf(types.context), sizeof(BatonContext));
#define EXPECT_OFFSET(FIELD, MEMBER)                                           \
  EXPECT_EQ(offsetOf(types.context, ProgramTypes::FIELD),                      \
            offsetof(BatonContext, MEMBER))
  EXPECT_OFFSET(Parameters, parameters);
  EXPECT_OFFSET(Storages, storages);
  EXPECT_OFFSET(Events, events);
  EXPECT_OFFSET(Workers, workers);
  EXPECT_OFFSET(Tokens, tokens);
  EXPECT_OFFSET(Steps, steps);
  EXPECT_OFFSET(Advance, advance);
  EXPECT_OFFSET(Observe, observe);
  EXPECT_OFFSET(Trace, trace);
  EXPECT_OFFSET(Exchange, exchange);
  EXPECT_OFFSET(Message, message);
  EXPECT_OFFSET(Tier, tier);
  EXPECT_OFFSET(Host, host);
  EXPECT_OFFSET(Touches, touches);
  EXPECT_OFFSET(Border, border);
#undef EXPECT_OFFSET
}
