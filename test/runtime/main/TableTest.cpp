//===- TableTest.cpp - text for people -----------------------------------===//

#include "runtime/main/table.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

TEST(Table, ColumnsLineUp) {
  Table table({1});
  table.add({"a", "12 ms", "x"});
  table.add({"long", "5 ms"});
  table.add({"b", "text"});
  EXPECT_EQ(table.text(2), "  a     12 ms  x\n"
                           "  long   5 ms\n"
                           "  b      text\n");
  EXPECT_EQ(Table().text(3), "");
}

TEST(Table, NumbersHaveUnits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(3.0 * 1024 * 1024 * 1024), "3.00 GiB");
  EXPECT_EQ(percent_text(0.4711), "47.1 %");
}

} // namespace
} // namespace baton
