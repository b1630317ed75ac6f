// Tests what the server keeps of waits that end without their keys.
#include "comm/store/store_table.h"

#include <gtest/gtest.h>

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

TEST(StoreTable, CancelledWaitGetsTheMissingKeysAndIsForgotten) {
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

class StoreTableLimits : public testing::Test {
 protected:
  StoreMessage ask(StoreTable::Client client, StoreMessage request) {
    const auto answers = table_.handle(client, std::move(request));
    return answers.empty() ? StoreMessage{.op = StoreOp::alive} : answers.at(0).message;
  }
  StoreMessage set(const char* key, std::size_t size) {
    return ask(1, {.op = StoreOp::set, .strings = {key, std::string(size, 'v')}});
  }

  StoreTable table_{StoreTable::Limits{.bytes = 10 * 1'024, .awaited = 1'000}};
};

TEST_F(StoreTableLimits, TotalSizeOfValuesIsLimited) {
  EXPECT_EQ(set("a", 8 * 1'024 - 1).op, StoreOp::done);
  EXPECT_EQ(set("b", 1).op, StoreOp::done);
  EXPECT_EQ(set("c", 2'048).op, StoreOp::rejected);
  EXPECT_EQ(set("c", 1).op, StoreOp::done);
  EXPECT_EQ(set("d", 1),
            (StoreMessage{
                .op = StoreOp::rejected,
                .strings = {"the store would hold 11264 bytes; the limit is 10240 (a key "
                            "counts as at least 1024); erase keys that are no longer needed, and "
                            "send large data by a collective"}}));
  for (const StoreMessage& more :
       {StoreMessage{.op = StoreOp::append, .strings = {"a", "v"}},
        StoreMessage{.op = StoreOp::append, .strings = {"d", "v"}},
        StoreMessage{.op = StoreOp::add, .number = 1, .strings = {"d"}},
        StoreMessage{.op = StoreOp::compare_set, .strings = {"d", "", "v"}}}) {
    EXPECT_EQ(ask(1, more).op, StoreOp::rejected) << static_cast<int>(more.op);
  }
  EXPECT_TRUE(table_.values("d").empty());
  EXPECT_EQ(ask(1, {.op = StoreOp::append, .strings = {"b", std::string(1'022, 'v')}}).op,
            StoreOp::done)
      << "a key counts as at least 1024 bytes, so a short value can grow";
  EXPECT_EQ(set("a", 1).op, StoreOp::done);
  EXPECT_EQ(ask(1, {.op = StoreOp::erase, .strings = {"b"}}).number, 1);
  EXPECT_EQ(set("d", 7 * 1'024 + 1'023).op, StoreOp::done) << "only a and c may take space now";
  EXPECT_EQ(set("e", 1).op, StoreOp::rejected);
}

TEST_F(StoreTableLimits, KeysThatAClientWaitsForAreLimited) {
  const std::string key(200, 'k');
  EXPECT_EQ(ask(1, wait_for(1, {key + "1", key + "2"})).op, StoreOp::alive);
  EXPECT_EQ(ask(1, wait_for(2, {key + "3"})).op, StoreOp::alive);
  EXPECT_EQ(ask(1, wait_for(3, {"4"})),
            (StoreMessage{.op = StoreOp::rejected,
                          .id = 3,
                          .strings = {"the keys that this process waits for would take 1116 bytes; "
                                      "the limit is 1000; wait for fewer at a time"}}));
  EXPECT_EQ(ask(2, wait_for(3, {"4"})).op, StoreOp::alive) << "the limit is for each client";
  EXPECT_EQ(set((key + "1").c_str(), 1).op, StoreOp::done);
  EXPECT_EQ(ask(1, wait_for(3, {"4"})).op, StoreOp::rejected)
      << "the wait for the first two keys has not ended";
  EXPECT_EQ(table_.handle(3, {.op = StoreOp::set, .strings = {key + "2", ""}}).size(), 2U);
  EXPECT_EQ(ask(1, wait_for(3, {"4"})).op, StoreOp::alive);
  EXPECT_EQ(ask(1, {.op = StoreOp::cancel, .id = 2}).op, StoreOp::missing);
  table_.forget_client(1);
  EXPECT_EQ(ask(1, wait_for(1, {key + "3", key + "4", key + "5"})).op, StoreOp::alive);
  EXPECT_EQ(ask(1, wait_for(2, {key + "6"})).op, StoreOp::rejected);
}

TEST(StoreTable, AppendDoesNotChangeAnUnsentAnswer) {
  StoreTable table;
  EXPECT_EQ(table.handle(1, set("a")).size(), 1U);
  const auto found = table.handle(1, {.op = StoreOp::find, .strings = {"a"}});
  EXPECT_EQ(table.handle(1, {.op = StoreOp::append, .strings = {"a", "w"}}).size(), 1U);
  EXPECT_EQ(*found[0].value, "v");
  EXPECT_EQ(*table.handle(1, {.op = StoreOp::find, .strings = {"a"}})[0].value, "vw");
}

}  // namespace
}  // namespace bp
