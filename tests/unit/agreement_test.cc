#include "comm/engine/observe/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "comm/engine/observe/failure.h"
#include "comm/message/messenger.h"
#include "tests/support/memory_store.h"

namespace bp {
namespace {

Operation operation(Operation::Kind kind, std::size_t count) {
  Operation result;
  result.kind = kind;
  result.output = {nullptr, count, DataType::bf16};
  return result;
}

TEST(Describe, DiffersForWhateverMustAgree) {
  Operation sum = operation(Operation::Kind::all_reduce, 12);
  EXPECT_EQ(describe(sum), "all_reduce sum of 12 bf16");
  sum.name = "loss";
  EXPECT_EQ(describe(sum), "all_reduce sum of 12 bf16 'loss'");
  Operation cast = operation(Operation::Kind::broadcast, 3);
  cast.root = 2;
  EXPECT_EQ(describe(cast), "broadcast of 3 bf16 from rank 2");
  EXPECT_EQ(describe(operation(Operation::Kind::barrier, 0)), "barrier");
}

TEST(Describe, ListsUnevenCountsAndHashesManyOfThem) {
  Operation gather = operation(Operation::Kind::all_gather, 4);
  gather.counts = {2, 2};
  EXPECT_EQ(describe(gather), "all_gather of 2 bf16");
  gather.counts = {3, 1};
  EXPECT_EQ(describe(gather), "all_gather of 3+1 bf16");
  gather.counts.assign(20, 1);
  gather.counts[18] = 2;
  const std::string one = describe(gather);
  EXPECT_THAT(one, testing::StartsWith("all_gather of 1+1+1+1+1+1+1+1+... (layout "));
  std::swap(gather.counts[18], gather.counts[19]);
  EXPECT_NE(describe(gather), one);
}

TEST(Header, EveryPartChangesTheSlot) {
  const Operation sum = operation(Operation::Kind::all_reduce, 12);
  const std::uint64_t slot = Header{"world", 3, &sum, "auto"}.slot();
  EXPECT_EQ((Header{"world", 3, &sum, "auto"}).slot(), slot);
  EXPECT_NE((Header{"world.1", 3, &sum, "auto"}).slot(), slot);
  EXPECT_NE((Header{"world", 4, &sum, "auto"}).slot(), slot);
  EXPECT_NE((Header{"world", 3, &sum, "ring"}).slot(), slot);

  std::vector<Operation> others(7, sum);
  others[0].kind = Operation::Kind::broadcast;
  others[1].reduce = ReduceOp::max;
  others[2].root = 1;
  others[3].output.count = 13;
  others[4].output.type = DataType::f16;
  others[5].name = "loss";
  others[6].counts = {6, 6};
  std::set<std::uint64_t> slots{slot};
  for (const Operation& other : others) slots.insert(Header{"world", 3, &other, "auto"}.slot());
  EXPECT_EQ(slots.size(), 1 + others.size());
}

// Each rank of an all_to_all_v has counts of its own, so they must not change the slot.
TEST(Header, CountsOfAnAllToAllVDoNotChangeTheSlot) {
  Operation one = operation(Operation::Kind::all_to_all_v, 0);
  Operation other = one;
  other.counts = {1, 2};
  EXPECT_EQ((Header{"world", 3, &other, "auto"}).slot(), (Header{"world", 3, &one, "auto"}).slot());
}

TEST(Agreement, ShowsWhatEachRankAsksForUntilForgotten) {
  test::MemoryStoreServer server;
  const auto store = server.connect(0);
  const std::vector<int> members = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  Agreement agreement(*store, "world.1", members);
  const Operation sum = operation(Operation::Kind::all_reduce, 12);
  const Header by_itself{"world.1", 3, &sum, "auto"};
  const Header by_ring{"world.1", 3, &sum, "ring"};
  agreement.show(0, by_itself);
  agreement.show(1, by_ring);
  agreement.show(10, by_itself);
  agreement.leave(2, 3);
  EXPECT_THAT(agreement.texts(3, agreement.shown(3)),
              testing::ElementsAre(testing::Pair(0, "all_reduce sum of 12 bf16"),
                                   testing::Pair(1, "all_reduce sum of 12 bf16 by ring"),
                                   testing::Pair(2, "nothing more, having finished"),
                                   testing::Pair(10, "all_reduce sum of 12 bf16")));
  EXPECT_THAT(agreement.shown(4), testing::IsEmpty());
  EXPECT_THAT(agreement.shown(31), testing::IsEmpty());
  EXPECT_THAT(Agreement(*store, "world.2", members).shown(3), testing::IsEmpty());
  agreement.forget(1, by_ring);
  EXPECT_FALSE(agreement.shown(3).contains(1));
  EXPECT_EQ(agreement.shown(3).at(10), agreement.shown(3).at(0));
  store->goodbye();
}

TEST(Agreement, TheLastRankDeletesTheKeys) {
  test::MemoryStoreServer server;
  const auto store = server.connect(0);
  const std::vector<int> members = {0, 1};
  Agreement agreement(*store, "world.1", members);
  const Operation sum = operation(Operation::Kind::all_reduce, 12);
  const Header header{"world.1", 3, &sum, "auto"};
  const std::string ranks = "comm/world.1/asked/3/ranks.";
  agreement.show(0, header);
  agreement.show(1, header);
  agreement.show(1, header);  // once more
  agreement.forget(1, header);
  EXPECT_TRUE(store->find(ranks));
  agreement.forget(0, header);
  EXPECT_EQ(store->find(ranks), std::nullopt);
  agreement.show(1, header);  // after the others have deleted it
  EXPECT_EQ(agreement.shown(3).size(), 1U);
  agreement.forget(1, header);
  EXPECT_EQ(store->find(ranks), std::nullopt);
  store->set("comm/world.1/waits/0.", "finished");
  store->set("comm/world.10/waits/0.", "of another group");
  agreement.leave(0, 4);
  EXPECT_TRUE(store->find("comm/world.1/waits/0."));
  agreement.leave(1, 4);
  EXPECT_EQ(store->find("comm/world.1/asked/4/ranks."), std::nullopt);
  EXPECT_EQ(store->find("comm/world.1/waits/0."), std::nullopt);
  EXPECT_TRUE(store->find("comm/world.10/waits/0."));
  store->goodbye();
}

// Changes each part of a grouped reduction by itself: one type, one count, or the boundary between
// two tensors.
TEST(Header, EveryTensorOfAGroupChangesTheSlot) {
  const auto grouped = [](std::vector<View> tensors) {
    Operation group = operation(Operation::Kind::all_reduce_grouped, 0);
    group.group = std::move(tensors);
    return Header{"world", 3, &group, "auto"}.slot();
  };
  const View ten{nullptr, 10, DataType::f32};
  const View two{nullptr, 2, DataType::f32};
  const std::vector<std::vector<View>> all = {
      {ten, two},
      {{nullptr, 10, DataType::i32}, two},
      {ten, {nullptr, 2, DataType::i32}},
      {{nullptr, 11, DataType::f32}, two},
      {ten, {nullptr, 3, DataType::f32}},
      {{nullptr, 9, DataType::f32}, {nullptr, 3, DataType::f32}},
      {two, ten},
      {ten},
      {ten, two, {nullptr, 0, DataType::f32}},
  };
  std::set<std::uint64_t> slots;
  for (const std::vector<View>& tensors : all) slots.insert(grouped(tensors));
  EXPECT_EQ(slots.size(), all.size());
}

TEST(Header, EachScaleChangesTheSlot) {
  const auto scaled = [](double before, double after) {
    Operation sum = operation(Operation::Kind::all_reduce, 12);
    sum.prescale = before;
    sum.postscale = after;
    return Header{"world", 3, &sum, "auto"}.slot();
  };
  const std::set<std::uint64_t> slots = {scaled(1, 1), scaled(1, 2), scaled(2, 1),
                                         scaled(1, 4), scaled(4, 1), scaled(2, 2)};
  EXPECT_EQ(slots.size(), 6U);
}

// The data of a message travel in a slot of their own.
TEST(MessageSlot, ChangesWithEveryPart) {
  const MessageRoute route{.group = 7, .sender = 1, .receiver = 2, .tag = 3, .bytes = 4};
  EXPECT_EQ(message_slot(route), message_slot(route));
  std::set<std::uint64_t> slots{message_slot(route)};
  std::vector<MessageRoute> others(6, route);
  others[0].group = 8;
  others[1].sender = 3;
  others[2].receiver = 3;
  others[3].tag = 4;
  others[4].bytes = 5;
  std::swap(others[5].sender, others[5].receiver);
  for (const MessageRoute& other : others) slots.insert(message_slot(other));
  EXPECT_EQ(slots.size(), 1 + others.size());
}

TEST(Disagreement, IsNoneIfAllRanksAskForTheSame) {
  EXPECT_FALSE(disagreement({}, 1, "world"));
  EXPECT_FALSE(disagreement({{0, "barrier"}, {2, "barrier"}}, 1, "world"));
}

TEST(Disagreement, ListsWhatEachRankAskedFor) {
  EXPECT_EQ(
      disagreement({{0, "a"}, {1, "b"}, {2, "a"}, {3, "c"}}, 17, "world"),
      "ranks disagree on collective 17 of world: ranks 0, 2 asked for a; rank 1 for b; rank 3 "
      "for c (every rank must ask for the same collectives in the same order)");
  EXPECT_EQ(disagreement({{0, "b"}, {1, "a"}, {2, "b"}}, 0, "world"),
            "ranks disagree on collective 0 of world: ranks 0, 2 asked for b; rank 1 for a (every "
            "rank must ask for the same collectives in the same order)");
}

TEST(Failure, KeepsTheFirst) {
  Failure failure;
  EXPECT_FALSE(failure.get());
  EXPECT_FALSE(failure.flag());
  EXPECT_FALSE(failure.wait(Deadline(std::chrono::milliseconds(1))));
  failure.set({ErrorCode::timeout, "first"});
  EXPECT_STREQ(failure.set({ErrorCode::io, "second"}).what(), "first");
  EXPECT_EQ(failure.get()->code(), ErrorCode::timeout);
  EXPECT_TRUE(failure.flag());
}

TEST(Failure, TravelsAsText) {
  const Error error(ErrorCode::mismatch, "ranks disagree");
  EXPECT_EQ(to_text(error), "mismatch: ranks disagree");
  EXPECT_EQ(error_of(-1, to_text(error)).code(), ErrorCode::mismatch);
  EXPECT_STREQ(error_of(-1, to_text(error)).what(), "ranks disagree");
}

TEST(Failure, OfALauncherNamesTheRank) {
  const Error lost = error_of(2, "killed by signal 9");
  EXPECT_EQ(lost.code(), ErrorCode::peer_lost);
  EXPECT_STREQ(lost.what(), "rank 2 was lost: killed by signal 9");
  EXPECT_STREQ(error_of(2, "rank 2 lost: no goodbye").what(), "rank 2 lost: no goodbye");
  EXPECT_EQ(error_of(-1, "the launcher was stopped").code(), ErrorCode::aborted);
}

}  // namespace
}  // namespace bp
