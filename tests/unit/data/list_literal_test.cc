#include "trainer/tasks/classify/list_literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::int32_t> numbers_of(std::string_view text) {
  std::vector<std::int32_t> numbers = {7};
  EXPECT_EQ(parse_list_literal(text, numbers), "") << text;
  return numbers;
}

std::string problem_of(std::string_view text) {
  std::vector<std::int32_t> numbers;
  return parse_list_literal(text, numbers);
}

TEST(ListLiteral, IsReadAsPythonWritesIt) {
  EXPECT_THAT(numbers_of("[101, 2023, 102, 0, 0]"), ElementsAre(101, 2023, 102, 0, 0));
  EXPECT_THAT(numbers_of("[5]"), ElementsAre(5));
  EXPECT_THAT(numbers_of("[]"), IsEmpty());
  EXPECT_THAT(numbers_of(" [ 1,2 ,\n3\t, 2147483647 ]\r\n"), ElementsAre(1, 2, 3, 2147483647));
}

TEST(ListLiteral, AnythingElseIsRefusedWithItsPlace) {
  EXPECT_EQ(problem_of(""), "ends where [ should be, at character 1");
  EXPECT_EQ(problem_of("101, 102]"), "has '1' where [ should be, at character 1");
  EXPECT_EQ(problem_of("[101, x]"), "has 'x' where a number should be, at character 7");
  EXPECT_EQ(problem_of("[101, -1]"), "has '-' where a number should be, at character 7");
  EXPECT_EQ(problem_of("[101, +1]"), "has '+' where a number should be, at character 7");
  EXPECT_EQ(problem_of("[101,]"), "has ']' where a number should be, at character 6");
  EXPECT_EQ(problem_of("[101"), "ends where , or ] should be, at character 5");
  EXPECT_EQ(problem_of("[101, "), "ends where a number should be, at character 7");
  EXPECT_EQ(problem_of("[101 102]"), "has '1' where , or ] should be, at character 6");
  EXPECT_EQ(problem_of("[101.0]"), "has '.' where , or ] should be, at character 5");
  EXPECT_EQ(problem_of("[1] [2]"), "has '[' where the end should be, at character 5");
  EXPECT_EQ(problem_of("[2147483648]"), "has a number above 2147483647, at character 2");
  EXPECT_EQ(problem_of("[1, 99999999999999999999]"),
            "has a number above 2147483647, at character 5");
  EXPECT_EQ(problem_of("[1, \xC3\xA9]"),
            "has a byte that is not ASCII text where a number should be, at character 5");
  using namespace std::string_view_literals;
  EXPECT_EQ(problem_of("[1\0]"sv),
            "has a byte that is not ASCII text where , or ] should be, at character 3");
}

}  // namespace
}  // namespace bp::trainer
