//===- AffineExpressionsTest.cpp - emitted maps against MLIR's folding ----===//

#include "codegen/cpu/AffineExpressions.h"
#include "dialects/Event/Event.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/NoFolder.h"
#include "llvm/Support/TargetSelect.h"

#include <gtest/gtest.h>

using namespace llvm;

/// One function int64_t(d0, s0, s1, s2) per result of `map`.
static std::unique_ptr<orc::LLJIT> compile(mlir::AffineMap map) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<LLVMContext>();
  auto module = std::make_unique<Module>("maps", *context);
  Type *i64 = Type::getInt64Ty(*context);
  // A builder that folds nothing, so that instructions are what is tested.
  IRBuilder<NoFolder> builder(*context);
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    auto *function = Function::Create(
        FunctionType::get(i64, {i64, i64, i64, i64}, false),
        GlobalValue::ExternalLinkage, "result" + Twine(i), *module);
    builder.SetInsertPoint(BasicBlock::Create(*context, "entry", function));
    Value *arguments[] = {function->getArg(0), function->getArg(1),
                          function->getArg(2), function->getArg(3)};
    builder.CreateRet(baton::cpu::emitAffine(
        builder, map.getResult(i),
        {ArrayRef(arguments).take_front(), ArrayRef(arguments).drop_front()}));
  }
  auto jit = cantFail(orc::LLJITBuilder().create());
  module->setDataLayout(jit->getDataLayout());
  cantFail(jit->addIRModule(
      orc::ThreadSafeModule(std::move(module), std::move(context))));
  return jit;
}

TEST(AffineExpressions, AgreeWithConstantFolding) {
  mlir::MLIRContext context;
  auto map = mlir::cast<mlir::AffineMapAttr>(mlir::parseAttribute(R"(affine_map<
    (d0)[s0, s1, s2] -> (d0 * 8 - s0, (d0 - s1) floordiv 4, (d0 - s1) ceildiv 4,
                         (d0 - s1) mod 4, (d0 * 3 - s2) floordiv 7,
                         (d0 * 3 - s2) ceildiv 7, (s0 - d0) mod 7,
                         (d0 - 1) floordiv 1, -d0 ceildiv 3,
                         (d0 + s0 mod 5) * 16 + 9, 42)>)",
                                                                  &context))
                 .getValue();
  auto jit = compile(map);
  SmallVector<int64_t (*)(int64_t, int64_t, int64_t, int64_t)> functions;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    functions.push_back(
        cantFail(jit->lookup("result" + std::to_string(i)))
            .toPtr<int64_t (*)(int64_t, int64_t, int64_t, int64_t)>());
  for (int64_t d0 = -9; d0 < 10; ++d0)
    for (int64_t symbol : {0, 1, 3, 8, 21}) {
      SmallVector<int64_t> expected =
          baton::event::evaluate(map, {d0}, {symbol, symbol + 1, 2 * symbol});
      ASSERT_EQ(expected.size(), functions.size());
      for (auto [i, function] : enumerate(functions))
        EXPECT_EQ(function(d0, symbol, symbol + 1, 2 * symbol), expected[i])
            << "result " << i << " at d0 = " << d0 << ", s0 = " << symbol;
    }
}
