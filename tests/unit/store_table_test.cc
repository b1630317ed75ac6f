// What the server keeps of waits that ended otherwise than by their keys.
#include <gtest/gtest.h>

#include "comm/store/table.h"

namespace bp {
namespace {

StoreMessage wait_for(std::uint64_t id, std::vector<std::string> keys) {
  return {.op = StoreOp::wait, .id = id, .strings = std::move(keys)};
}

StoreMessage set(const char* key) { return {.op = StoreOp::set, .id = 99, .strings = {key, "v"}}; }

TEST(StoreTable, AnswersEachWaiterOnce) {
  StoreTable table;
  EXPECT_TRUE(table.handle(1, wait_for(10, {"a", "b"})).empty());
  EXPECT_TRUE(table.handle(2, {.op = StoreOp::get, .id = 20, .strings = {"b"}}).empty());
  EXPECT_EQ(table.handle(3, set("a")).size(), 1U);
  const auto answers = table.handle(3, set("b"));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[1].client, 1U);
  EXPECT_EQ(answers[1].message, (StoreMessage{.op = StoreOp::done, .id = 10}));
  EXPECT_EQ(answers[2].client, 2U);
  EXPECT_EQ(answers[2].message, (StoreMessage{.op = StoreOp::found, .id = 20}));
  EXPECT_EQ(*answers[2].value, "v");
  EXPECT_EQ(table.handle(3, set("b")).size(), 1U);
  EXPECT_EQ(table.waits(), 0U);
}

TEST(StoreTable, CancelledWaitIsToldWhatIsMissingAndForgotten) {
  StoreTable table;
  EXPECT_TRUE(table.handle(1, wait_for(10, {"b", "a", "c"})).empty());
  EXPECT_EQ(table.handle(2, set("a")).size(), 1U);
  const auto answers = table.handle(1, {.op = StoreOp::cancel, .id = 10});
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].message,
            (StoreMessage{.op = StoreOp::missing, .id = 10, .strings = {"b", "c"}}));
  EXPECT_TRUE(table.handle(1, {.op = StoreOp::cancel, .id = 10}).empty());
  EXPECT_EQ(table.handle(2, set("b")).size(), 1U);
  EXPECT_EQ(table.waits(), 0U);
}

TEST(StoreTable, WaitsOfAClientThatLeftAreForgotten) {
  StoreTable table;
  EXPECT_TRUE(table.handle(1, wait_for(1, {"a"})).empty());
  EXPECT_TRUE(table.handle(2, wait_for(1, {"a"})).empty());
  EXPECT_TRUE(table.handle(2, wait_for(2, {"a"})).empty());
  EXPECT_TRUE(table.handle(3, wait_for(1, {"a"})).empty());
  table.forget_client(2);
  EXPECT_EQ(table.waits(), 2U);
  const auto answers = table.handle(9, set("a"));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[1].client, 1U);
  EXPECT_EQ(answers[2].client, 3U);
}

}  // namespace
}  // namespace bp
