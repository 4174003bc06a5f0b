//===- TargetTest.cpp - CPU names and features ----------------------------===//

#include "codegen/cpu/Emit.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

using namespace baton::cpu;

TEST(Target, NativeNamesTheHostAndItsFeatures) {
  Target target = llvm::cantFail(resolveTarget({}));
  EXPECT_NE(target.cpu, "native");
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.features).split(features, ',');
  EXPECT_GT(features.size(), 1u);
  EXPECT_TRUE(llvm::is_sorted(features, [](auto left, auto right) {
    return left.drop_front() < right.drop_front();
  }));
}

TEST(Target, ANamedCpuBringsItsOwnFeatures) {
  TargetOptions options;
  options.cpu = "x86-64-v3";
  Target target = llvm::cantFail(resolveTarget(options));
  EXPECT_EQ(target.cpu, "x86-64-v3");
  EXPECT_EQ(target.features, "");
}

TEST(Target, AnUnknownCpuIsRefusedByName) {
  TargetOptions options;
  options.cpu = "pentium-9000";
  auto target = resolveTarget(options);
  ASSERT_FALSE(bool(target));
  std::string message = llvm::toString(target.takeError());
  EXPECT_NE(message.find("unknown target CPU 'pentium-9000'"),
            std::string::npos);
  EXPECT_NE(message.find("--print-supported-cpus"), std::string::npos);
}
