//===- EmitErrorsTest.cpp - plans that code generation refuses ------------===//

#include "test/codegen/cpu/Fixture.h"

#include <gtest/gtest.h>

using namespace baton::cpu;
using namespace baton::cpu::test;

/// A program whose only phase, in a segment that repeats twice, has `body`.
static std::string planOf(llvm::StringRef body,
                          llvm::StringRef proof = "proof {}") {
  return (R"mlir(
event.program @p max_rows 8 max_seq 8 max_outputs 1 )mlir" +
          proof + R"mlir( attributes {scratch_bytes = 16 : i64} {
  event.parameter @flat : f32 layers 1 {}
  event.parameter @deep : f32 layers 2 {}
  event.parameter @odd : f32 layers 3 {}
  event.storage @s bytes 1024
  event.buffer @tokens input : i32 extents affine_map<()[r, p, o] -> (p + r)> capacity [8] strides [1]
  event.buffer @wide input : i64 extents affine_map<()[r, p, o] -> (p + r)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @s
  event.buffer @apart transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [16, 2] in @s
  event.buffer @ragged transient : f32 extents affine_map<()[r, p, o] -> (o, r)> capacity [1, 8] strides [8, 1] in @s
  event.buffer @homeless transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1]
  event.segment "only" repeat 2 {
    event.phase "task" grid affine_map<()[r, p, o] -> (r)> capacity [8] accesses [] {
      )mlir" +
          body + "\n    }\n  }\n}\n")
      .str();
}

/// The message with which `text` is refused.
static std::string refusal(const std::string &text,
                           const TargetOptions &options = testOptions()) {
  auto object = emitText(text, options);
  if (object)
    return "accepted";
  std::string message = llvm::toString(object.takeError());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

#define X "#event.address<@x, (m)[r, p, o] -> (m, 0)>"

TEST(EmitErrors, AcceptsTheFrameItself) {
  EXPECT_EQ(
      refusal(planOf("event.call \"test_scale\" [" X ", " X ", 1 : i64]")),
      "accepted");
}

TEST(EmitErrors, Proof) {
  EXPECT_EQ(refusal(planOf("", "")),
            "program @p has no proof; run event-verify first");
}

TEST(EmitErrors, UnknownTask) {
  EXPECT_EQ(refusal(planOf("event.call \"nonesuch\" []")),
            "phase 'task', call 'nonesuch': the task library has no "
            "baton_task_nonesuch");
}

TEST(EmitErrors, FunctionThatIsNoTask) {
  EXPECT_EQ(refusal(planOf("event.call \"test_value\" []")),
            "phase 'task', call 'test_value': baton_task_test_value is no task "
            "body");
}

TEST(EmitErrors, AccessesWithoutACall) {
  std::string plan = planOf("");
  std::string none = "accesses []";
  plan.replace(plan.find(none), none.size(),
               "accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to "
               "(m)[r, p, o] -> (m + 1, 8)>]");
  EXPECT_EQ(refusal(plan),
            "phase 'task' has accesses, and no call that makes them");
}

TEST(EmitErrors, OperandsThatABodyDeclares) {
  EXPECT_EQ(refusal(planOf("event.call \"clear\" [" X "]")),
            "phase 'task', call 'clear': has 1 operands, clear takes 2: out, "
            "columns");
  EXPECT_EQ(refusal(planOf("event.call \"clear\" [" X ", 1.0 : f32]")),
            "phase 'task', call 'clear': operand 'columns' is 1.000000e+00 : "
            "f32, clear takes a count or an i64");
}

TEST(EmitErrors, NumberOfOperands) {
  EXPECT_EQ(refusal(planOf("event.call \"test_scale\" [" X ", " X "]")),
            "phase 'task', call 'test_scale': has 2 operands, "
            "baton_task_test_scale takes 3");
}

TEST(EmitErrors, KindsOfOperands) {
  auto third = [](llvm::StringRef operand) {
    return refusal(planOf(
        ("event.call \"test_scale\" [" X ", " X ", " + operand + "]").str()));
  };
  const std::string where = "phase 'task', call 'test_scale', operand 2: ";
  EXPECT_EQ(third("1 : i32"),
            where + "1 : i32 is i32, the task library takes i64");
  EXPECT_EQ(third("#event.scratch<0>"),
            where + "#event.scratch<0> is a pointer, the task library takes "
                    "i64");
  EXPECT_EQ(third("1.0 : f32"),
            where + "1.000000e+00 : f32 is f32, the task library takes i64");
  EXPECT_EQ(
      refusal(planOf("event.call \"test_scale\" [" X ", 5 : i64, 1 : i64]")),
      "phase 'task', call 'test_scale', operand 1: 5 : i64 is i64, the "
      "task library takes a pointer");
}

TEST(EmitErrors, Memory) {
  auto first = [](llvm::StringRef operand) {
    return refusal(planOf(
        ("event.call \"test_scale\" [" + operand + ", " X ", 1 : i64]").str()));
  };
  const std::string where = "phase 'task', call 'test_scale', operand 0: ";
  EXPECT_EQ(first("#event.address<@homeless, (m)[r, p, o] -> (m, 0)>"),
            where + "buffer @homeless has no storage; run plan-memory first");
  EXPECT_EQ(first("#event.address<@wide, (m)[r, p, o] -> (m)>"),
            where + "input @wide holds i64, but the runtime provides token ids "
                    "(i32)");
  EXPECT_EQ(first("#event.weight<@odd, (m)[r, p, o] -> (m)>"), "accepted");
  EXPECT_EQ(first("#event.weight<@flat, (m)[r, p, o] -> (m)>"), "accepted");
}

TEST(EmitErrors, Advance) {
  EXPECT_EQ(refusal(planOf("event.advance @apart")),
            "phase 'task', advance of @apart: a row of logits must be "
            "contiguous");
  EXPECT_EQ(refusal(planOf("event.advance @ragged")),
            "phase 'task', advance of @ragged: the vocabulary is no constant");
  EXPECT_EQ(refusal(planOf("event.advance @homeless")),
            "phase 'task', advance of @homeless: buffer @homeless has no "
            "storage; run plan-memory first");
}

TEST(EmitErrors, TooFewLayers) {
  std::string text = planOf("event.call \"test_scale\" [" X
                            ", #event.weight<@deep, (m)[r, p, o] -> (m)>, 1 : "
                            "i64]");
  text.replace(text.find("repeat 2"), 8, "repeat 3");
  EXPECT_EQ(refusal(text),
            "phase 'task', call 'test_scale', operand 1: parameter @deep has 2 "
            "layers, segment 'only' repeats 3 times");
}

TEST(EmitErrors, ExplicitSchedule) {
  std::string text = planOf("");
  text.replace(text.rfind("}"), 1,
               "event.schedule rows 1 past 0 outputs 0 workers "
               "[[#event.task<\"task\", 0, [0]>, #event.task<\"task\", 1, "
               "[0]>]]\n}");
  EXPECT_NE(refusal(text).find("explicit schedule"), std::string::npos);
}

TEST(EmitErrors, Library) {
  TargetOptions options = testOptions();
  options.library = "/nonesuch.bc";
  EXPECT_EQ(refusal(planOf(""), options),
            "task library '/nonesuch.bc': Could not open input file: No such "
            "file or directory");
}

TEST(EmitErrors, Sanitizer) {
  TargetOptions options = testOptions();
  options.sanitize = "memory";
  EXPECT_EQ(refusal(planOf(""), options),
            "unknown sanitizer 'memory', expected 'thread' or 'address'");
}
