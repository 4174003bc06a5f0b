//===- ElementwiseTest.cpp - what follows of an op's being element-wise ---===//
//
// Of each op that says so: nothing is listed here. Its adjoint is computed by
// the CPU library's bodies and held against differences of its own body.
//
//===----------------------------------------------------------------------===//

#include "codegen/bodies/TaskCalls.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/training.h"
#include "dialects/Model/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

using namespace mlir;
using namespace baton;
using namespace baton::model;

namespace {

using Values = std::vector<float>;
constexpr int64_t width = 40;

//===----------------------------------------------------------------------===//
// Bodies, by their names
//===----------------------------------------------------------------------===//

using Numbers = ArrayRef<Attribute>;
using Body = std::function<Values(ArrayRef<Values>, Numbers)>;

template <typename Function> Body wrap(Function *) { return nullptr; }
template <>
Body wrap(void (*body)(float *, int64_t, const float *, int64_t, int64_t,
                       int64_t)) {
  return [=](ArrayRef<Values> x, Numbers) {
    Values out(width);
    body(out.data(), width, x[0].data(), width, 1, width);
    return out;
  };
}
template <>
Body wrap(void (*body)(float *, int64_t, const float *, int64_t, int64_t,
                       int64_t, float)) {
  return [=](ArrayRef<Values> x, Numbers numbers) {
    Values out(width);
    body(out.data(), width, x[0].data(), width, 1, width,
         cast<FloatAttr>(numbers[0]).getValue().convertToFloat());
    return out;
  };
}
template <>
Body wrap(void (*body)(float *, int64_t, const float *, int64_t, const float *,
                       int64_t, int64_t, int64_t)) {
  return [=](ArrayRef<Values> x, Numbers) {
    Values out(width);
    body(out.data(), width, x[0].data(), width, x[1].data(), width, 1, width);
    return out;
  };
}
template <>
Body wrap(void (*body)(float *, int64_t, const float *, int64_t, const float *,
                       int64_t, const float *, int64_t, int64_t, int64_t)) {
  return [=](ArrayRef<Values> x, Numbers) {
    Values out(width);
    body(out.data(), width, x[0].data(), width, x[1].data(), width, x[2].data(),
         width, 1, width);
    return out;
  };
}
template <>
Body wrap(void (*body)(float *, int64_t, const float *, int64_t, const float *,
                       int64_t, int64_t, int64_t, int32_t)) {
  return [=](ArrayRef<Values> x, Numbers numbers) {
    Values out(width);
    body(out.data(), width, x[0].data(), width, x[1].data(), width, 1, width,
         cast<IntegerAttr>(numbers[0]).getInt());
    return out;
  };
}

Body findBody(StringRef name) {
  static const std::map<std::string, Body> bodies = {
#define BATON_BODY(name) {#name, wrap(name)},
#include "codegen/bodies/Functions.inc"
#undef BATON_BODY
  };
  auto found = bodies.find("baton_task_" + name.str());
  return found == bodies.end() ? nullptr : found->second;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

class ElementwiseOps : public testing::Test {
protected:
  ElementwiseOps() {
    context.loadDialect<ModelDialect>();
    context.allowUnregisteredDialects();
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (name.hasInterface<Elementwise>())
        names.push_back(name);
  }

  /// The op, of operands that nothing makes, with every attribute that one of
  /// its kind may have; null if it does not verify.
  OwningOpRef<ModuleOp> make(OperationName name, StringRef operandType,
                             StringRef resultType, StringRef activation) {
    const unsigned count = name.hasTrait<OpTrait::OneOperand>()           ? 1
                           : name.hasTrait<OpTrait::NOperands<3>::Impl>() ? 3
                                                                          : 2;
    std::string values, types, text;
    for (unsigned i = 0; i < count; ++i) {
      values += (i ? ", %x" : "%x") + std::to_string(i);
      types += (i ? ", " : "") + operandType.str();
    }
    llvm::raw_string_ostream(text)
        << values << " = \"test.values\"() : () -> (" << types << ")\n"
        << "%r = \"" << name.getStringRef() << "\"(" << values
        << ") {factor = 1.7 : f32, activation = #model.activation<"
        << activation << ">} : (" << types << ") -> " << resultType;
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    return parseSourceString<ModuleOp>(text, &context);
  }
  OwningOpRef<ModuleOp> make(OperationName name,
                             StringRef activation = "gelu") {
    return make(name, type, type, activation);
  }
  static Elementwise opIn(ModuleOp module) {
    return cast<Elementwise>(module.getBody()->back());
  }

  static constexpr StringLiteral type = "!model.tensor<rows x 40 x f32>";
  MLIRContext context;
  std::vector<OperationName> names;
};

TEST_F(ElementwiseOps, AreThere) { EXPECT_GE(names.size(), 7u); }

TEST_F(ElementwiseOps, HaveOneTypeOfNumbers) {
  for (OperationName name : names) {
    SCOPED_TRACE(name.getStringRef().str());
    EXPECT_TRUE(make(name));
    EXPECT_FALSE(make(name, type, "!model.tensor<rows x 41 x f32>", "gelu"));
    StringRef integers = "!model.tensor<rows x 40 x i32>";
    EXPECT_FALSE(make(name, integers, integers, "gelu"));
  }
}

/// Out, inputs, each with the distance between two rows; rows and width;
/// numbers.
TEST_F(ElementwiseOps, HaveBodiesOfOneForm) {
  for (OperationName name : names) {
    SCOPED_TRACE(name.getStringRef().str());
    OwningOpRef<ModuleOp> module = make(name);
    Elementwise op = opIn(*module);
    auto body = bodies::lookUp(op.getBody());
    ASSERT_TRUE(body);
    using bodies::Role;
    std::vector<Role> expected = {Role::Output, Role::Stride}, found;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      expected.insert(expected.end(), {Role::Input, Role::Stride});
    expected.insert(expected.end(), {Role::Count, Role::Count});
    for (const auto &operand : bodies::signatureOf(body->kind).operands)
      found.push_back(operand.role);
    EXPECT_EQ(found.size(), expected.size() + op.getBodyNumbers().size());
    found.resize(expected.size());
    EXPECT_EQ(found, expected);
    EXPECT_TRUE(findBody(op.getBody()));
  }
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

/// Writes an adjoint behind the op; nothing but the op is differentiated.
class PlainAdjoint : public Adjoint {
public:
  PlainAdjoint(OpBuilder &builder, Operation *op, Value dy)
      : Adjoint(builder, op->getLoc()), dy(dy) {}

  Value value(Value forward) override { return forward; }
  Value gradient(Value) override { return dy; }
  void add(Value operand, Value gradient) override {
    gradients.push_back({operand, gradient});
  }
  void addSlice(Value, Value, int64_t, int64_t) override {
    FAIL() << "no part of an element-wise op's operand has a gradient";
  }

  SmallVector<std::pair<Value, Value>> gradients;

private:
  Value dy;
};

Values compute(Elementwise op, ArrayRef<Values> inputs) {
  Body body = findBody(op.getBody());
  return body ? body(inputs, op.getBodyNumbers()) : Values(width, NAN);
}

/// What `wanted` is, by the bodies of the ops that make it.
Values compute(Value wanted, DenseMap<Value, Values> &known) {
  if (auto found = known.find(wanted); found != known.end())
    return found->second;
  auto op = dyn_cast<Elementwise>(wanted.getDefiningOp());
  if (!op)
    return Values(width, NAN);
  std::vector<Values> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(compute(operand, known));
  return known[wanted] = compute(op, inputs);
}

void expectAdjoint(Elementwise op) {
  std::mt19937 random(1);
  auto values = [&](float least, float most) {
    Values result(width);
    for (float &value : result)
      value = std::uniform_real_distribution<float>(least, most)(random) *
              (random() % 2 ? 1 : -1);
    return result;
  };
  // Away from 0, where some have a kink.
  std::vector<Values> inputs;
  DenseMap<Value, Values> known;
  for (Value operand : op->getOperands()) {
    inputs.push_back(values(0.1f, 3.0f));
    known[operand] = inputs.back();
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(op->getBlock());
  OperationState source(op->getLoc(), "test.gradient");
  source.addTypes(op->getResult(0).getType());
  Value dy = builder.create(source)->getResult(0);
  const Values gradient = known[dy] = values(0.5f, 1.0f);
  PlainAdjoint adjoint(builder, op, dy);
  cast<Differentiable>(*op).differentiateInputs(adjoint);
  ASSERT_EQ(adjoint.gradients.size(), op->getNumOperands());
  for (auto [n, pair] : llvm::enumerate(adjoint.gradients)) {
    ASSERT_EQ(pair.first, op->getOperand(n));
    const Values found = compute(pair.second, known);
    constexpr float step = 0x1p-6f;
    std::vector<Values> above = inputs, below = inputs;
    for (int64_t i = 0; i < width; ++i) {
      above[n][i] += step;
      below[n][i] -= step;
    }
    const Values right = compute(op, above), left = compute(op, below);
    for (int64_t i = 0; i < width; ++i)
      EXPECT_NEAR(found[i], gradient[i] * (right[i] - left[i]) / (2 * step),
                  2e-3f)
          << "operand " << n << " at " << inputs[n][i];
  }
}

TEST_F(ElementwiseOps, HaveAdjointsThatMatchDifferences) {
  unsigned differentiated = 0;
  for (OperationName name : names)
    for (StringRef activation :
         {"identity", "silu", "gelu", "gelu_tanh", "relu"}) {
      if (!name.hasInterface<Differentiable>())
        continue;
      SCOPED_TRACE(name.getStringRef().str() + " " + activation.str());
      OwningOpRef<ModuleOp> module = make(name, activation);
      ASSERT_TRUE(module);
      expectAdjoint(opIn(*module));
      ++differentiated;
    }
  EXPECT_GE(differentiated, 5u * 5u);
}

} // namespace
