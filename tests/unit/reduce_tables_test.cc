// The tables of element types and reductions (bp/types.h): their kernels, their numbers, and what
// the docs say of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/text.h"
#include "bp/types.h"
#include "comm/reduce/reduce_kernel.h"
#include "tests/support/places.h"

namespace bp {
namespace {

using ::testing::HasSubstr;

// A kernel with another number of bytes an element would leave some of them as they were.
TEST(ReduceTables, EveryPairHasAKernelOfItsBytes) {
  const auto bytes_of = [](Kernel kernel) {
    switch (kernel.lane) {
      case Lane::u8:
      case Lane::i8:
        return kernel.lanes;
      case Lane::u16:
      case Lane::f16:
      case Lane::bf16:
        return kernel.lanes * 2;
      case Lane::i32:
      case Lane::f32:
        return kernel.lanes * 4;
      case Lane::i64:
      case Lane::f64:
        return kernel.lanes * 8;
    }
    return std::size_t{0};
  };
  for (const DataType type : kDataTypes) {
    EXPECT_EQ(bytes_of(kernel_of(type)), size_of(type)) << name_of(type);
    for (const ReduceOp op : kReduceOps) {
      if (!can_reduce(op, type)) continue;
      EXPECT_EQ(bytes_of(kernel_of(op, type)), size_of(type)) << name_of(op) << name_of(type);
    }
  }
}

// The numbers are those of messages, so they never change; each row follows the one before.
TEST(ReduceTables, RowsAreNumberedInTheirOrder) {
  for (std::size_t i = 0; i < kDataTypes.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kDataTypes[i]), i);
  }
  for (std::size_t i = 0; i < kReduceOps.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kReduceOps[i]), i);
  }
  EXPECT_EQ(static_cast<int>(DataType::f64), 7);
  EXPECT_EQ(static_cast<int>(ReduceOp::product), 4);
}

std::string text_of(const std::string& document) {
  std::ifstream file(kSourceDir + "/docs/" + document);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The rows of the table in docs/comm.md.
std::string table_for_docs() {
  std::string text = "| type | bytes |";
  std::string line = "|---|---|";
  for (const ReduceOp op : kReduceOps) {
    text += concat(" ", name_of(op), " |");
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const DataType type : kDataTypes) {
    text += concat("| ", name_of(type), " | ", size_of(type), " |");
    for (const ReduceOp op : kReduceOps) text += can_reduce(op, type) ? " yes |" : " no |";
    text += "\n";
  }
  return text;
}

TEST(ReduceTables, DocsHaveTheTable) {
  EXPECT_THAT(text_of("comm.md"), HasSubstr(table_for_docs()));
}

// "u8, i8 and i32"
template <class Names>
std::string list_of(const Names& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += concat(i == 0 ? "" : i + 1 == all.size() ? " and " : ", ", name_of(all[i]));
  }
  return text;
}

TEST(ReduceTables, OtherPagesListTheSameTypes) {
  EXPECT_THAT(text_of("porting-from-horovod.md"),
              HasSubstr("**Types.** bp has " + list_of(kDataTypes) + "."));
}

}  // namespace
}  // namespace bp
