// Tests what a program sees of the store: values, waits, views.
#include "bp/store.h"

#include <chrono>
#include <thread>

#include "tests/unit/store_fixture.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

// docs/acceptance.md, Store: A counter starts at zero and is kept as decimal text.
TEST_F(StoreTest, AddCountsFromZeroAndKeepsDecimalText) {
  const auto store = client();
  EXPECT_EQ(store->add("a", 1), 1);
  EXPECT_EQ(store->add("a", 2), 3);
  EXPECT_EQ(store->add("a", 3), 6);
  EXPECT_EQ(store->get("a", 0ms), "6");
  for (int i = 1; i <= 6; ++i) {
    store->add("b", i);
  }
  EXPECT_EQ(store->get("b", 0ms), "21");
  EXPECT_EQ(store->add("b", -22), -1);
}

TEST_F(StoreTest, AddToATextIsRefused) {
  const auto store = client(2);
  store->set("text", "six");
  EXPECT_EQ(error_of([&] { return store->add("text", 1); }),
            concat("invalid_argument: rank 2, add to \"text\" at the store ",
                   server_->address().text(), ": the key's value is not a whole number"));
  store->set("most", "9223372036854775807");
  EXPECT_THAT(error_of([&] { return store->add("most", 1); }),
              EndsWith("9223372036854775807 + 1 does not fit 64 bits"));
}

// docs/acceptance.md, Store: A value may be any bytes, or empty.
TEST_F(StoreTest, ValuesAreAnyBytes) {
  const auto store = client();
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  store->set(bytes, bytes + bytes);
  EXPECT_EQ(store->get(bytes, 0ms), bytes + bytes);
  store->set("empty", "");
  EXPECT_EQ(store->get("empty", 0ms), "");
  EXPECT_THAT(store->find("empty"), Optional(std::string()));
  store->set("", "the empty key");
  EXPECT_THAT(store->find(""), Optional(std::string("the empty key")));
}

TEST_F(StoreTest, ValuesCanHaveSixteenMebibytes) {
  const auto store = client();
  std::string most(std::size_t{16} << 20, 'x');
  most[12345] = 'y';
  store->set("most", most);
  EXPECT_TRUE(store->get("most", 20s) == most);
  EXPECT_TRUE(store->compare_set("most", most, most) == most);
  EXPECT_EQ(error_of([&] { store->append("most", "x"); }),
            concat("invalid_argument: an observer, append to \"most\" at the store ",
                   server_->address().text(),
                   ": 16777216 + 1 bytes are more than a value may have, 16777216"));
  EXPECT_EQ(
      error_of([&] { store->set("more", most + "x"); }),
      concat("invalid_argument: an observer, set \"more\" at the store ", server_->address().text(),
             ": the value has 16777217 bytes; the limit is 16777216; send large data by a "
             "collective"));
  EXPECT_THAT(error_of([&] { store->set(std::string(4097, 'k'), ""); }),
              AllOf(StartsWith("invalid_argument: "), HasSubstr("the key has 4097 bytes")));
  store->set(std::string(4096, 'k'), "longest");
  EXPECT_EQ(store->get(std::string(4096, 'k'), 0ms), "longest");
}

// docs/acceptance.md, Store: A deleted key is gone.
TEST_F(StoreTest, EraseRemovesAllKeysWithThePrefix) {
  const auto store = client();
  for (const char* key : {"a", "a/1", "a/2", "b", "a0"}) {
    store->set(key, key);
  }
  EXPECT_EQ(store->erase("a/"), 2);
  EXPECT_EQ(store->erase("a/"), 0);
  EXPECT_EQ(store->find("a/1"), std::nullopt);
  EXPECT_EQ(store->get("a", 0ms), "a");
  EXPECT_THAT(error_of([&] { return store->get("a/1", 20ms); }), StartsWith("timeout: "));
  EXPECT_EQ(store->erase(""), 3);
}

// docs/acceptance.md, Store: A value is replaced only if it is the expected one.
TEST_F(StoreTest, CompareSetChangesOnlyTheExpectedValue) {
  const auto store = client();
  EXPECT_EQ(store->compare_set("k", "old", "new"), "") << "the key is absent, so it is not \"old\"";
  EXPECT_EQ(store->find("k"), std::nullopt);
  EXPECT_EQ(store->compare_set("k", "", "first"), "first");
  EXPECT_EQ(store->compare_set("k", "", "second"), "first");
  EXPECT_EQ(store->compare_set("k", "first", "second"), "second");
  EXPECT_EQ(store->get("k", 0ms), "second");
}

TEST_F(StoreTest, AppendAddsAtTheEnd) {
  const auto store = client();
  store->append("log", "one,");
  store->append("log", "two");
  EXPECT_EQ(store->get("log", 0ms), "one,two");
}

// docs/acceptance.md, Store: A client sees what another client has set.
TEST_F(StoreTest, OneClientSeesWhatAnotherSet) {
  const auto first = client();
  std::string expected;
  for (int i = 0; i < 5; ++i) {
    const auto other = client(i);
    EXPECT_EQ(other->compare_set("turn", expected, concat(i)), concat(i));
    other->set(concat("key", i), concat("value", i));
    other->goodbye();
    expected = concat(i);
    EXPECT_EQ(first->get(concat("key", i), 0ms), concat("value", i));
  }
}

// docs/acceptance.md, Store: A wait that reaches its deadline names the key, and the store stays
// usable.
TEST_F(StoreTest, TimeoutNamesTheKeyAndLeavesTheStoreUsable) {
  const auto store = client(3);
  EXPECT_EQ(error_of([&] { return store->get("absent", 25ms); }),
            concat("timeout: rank 3, get \"absent\" at the store ", server_->address().text(),
                   ": timeout after 0.025 s, still missing: \"absent\""));
  store->set("present", "x");
  const std::vector<std::string> keys = {"present"};
  store->wait(keys, 25ms);
  store->wait({}, 0ms);
}

// docs/acceptance.md, Store: A wait for several keys names exactly those that are missing.
TEST_F(StoreTest, WaitNamesExactlyTheMissingKeys) {
  const auto store = client();
  for (const int rank : {0, 1, 3}) {
    store->set(concat("here/", rank), "");
  }
  const std::vector<std::string> keys = {"here/0", "here/1", "here/2", "here/3"};
  EXPECT_EQ(error_of([&] { store->wait(keys, 25ms); }),
            concat("timeout: an observer, wait for 4 keys at the store ", server_->address().text(),
                   ": timeout after 0.025 s, still missing: \"here/2\""));
}

TEST_F(StoreTest, ListOfManyMissingKeysIsCut) {
  const auto store = client();
  std::vector<std::string> keys(25, "\n");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] += concat(i + 10);
  }
  EXPECT_THAT(error_of([&] { store->wait(keys, 0ms); }),
              AllOf(HasSubstr("\"\\x0a10\", \"\\x0a11\""), EndsWith("\"\\x0a29\" and 5 more")));
}

TEST_F(StoreTest, WaitEndsWhenTheLastKeyIsSet) {
  const auto waiting = client();
  const auto setting = client();
  std::thread thread([&] {
    const std::vector<std::string> keys = {"a", "b", "a"};
    waiting->wait(keys, kSoon);
    EXPECT_EQ(waiting->get("c", kSoon), "3");
  });
  setting->set("a", "1");
  setting->append("b", "2");
  setting->add("c", 3);
  thread.join();
}

TEST_F(StoreTest, ManyThreadsCanUseOneClient) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 100;
  const auto store = client();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        store->add("sum", i);
        store->set(concat("round/", round, "/", i), concat(i));
        const int next = (i + 1) % kThreads;
        EXPECT_EQ(store->get(concat("round/", round, "/", next), kSoon), concat(next));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(store->get("sum", 0ms), concat(kRounds * kThreads * (kThreads - 1) / 2));
}

// docs/acceptance.md, Store: Keys of different prefixes are separate.
TEST_F(StoreTest, PrefixedViewsAreSeparate) {
  const auto store = client();
  const auto a = prefix_store(*store, "a/");
  const auto b = prefix_store(*store, "b/");
  a->set("key", "of a");
  b->set("key", "of b");
  EXPECT_EQ(a->get("key", 0ms), "of a");
  EXPECT_EQ(store->get("b/key", 0ms), "of b");
  a->append("key", "!");
  EXPECT_EQ(a->compare_set("key", "of a!", "new"), "new");
  EXPECT_EQ(a->add("n", 2), 2);
  EXPECT_EQ(a->erase(""), 2);
  EXPECT_EQ(a->find("key"), std::nullopt);
  EXPECT_EQ(b->find("key"), "of b");
  const std::vector<std::string> keys = {"key", "other"};
  EXPECT_THAT(error_of([&] { b->wait(keys, 0ms); }), EndsWith("still missing: \"b/other\""));
  a->fail_job({.cause = -1, .text = "the disk is full"});
  EXPECT_EQ(store->job_failure()->text, "the disk is full") << "all views belong to one job";
}

TEST_F(StoreTest, TooManyKeysInOneWaitAreRefused) {
  const auto store = client();
  const std::vector<std::string> keys((std::size_t{64} << 10) + 1, "key");
  EXPECT_EQ(
      error_of([&] { store->wait(keys, 0ms); }),
      concat("invalid_argument: an observer, wait for 65537 keys at the store ",
             server_->address().text(), ": the limit is 65536 keys; wait for fewer at a time"));
}

TEST_F(StoreTest, TooManyBytesOfKeysInOneWaitAreRefused) {
  const auto store = client();
  // 21 bytes, and for each key 4 bytes of length and 4096 of text.
  const std::vector<std::string> keys(8200, std::string(4096, 'k'));
  EXPECT_EQ(error_of([&] { store->wait(keys, 0ms); }),
            concat("invalid_argument: an observer, wait for 8200 keys at the store ",
                   server_->address().text(),
                   ": the request has 33620021 bytes; the limit is 33619968; wait for fewer at a "
                   "time"));
}

// docs/acceptance.md, Store: A store's port that is in use is named.
TEST_F(StoreTest, BusyPortIsNamed) {
  const int port = server_->address().port;
  EXPECT_EQ(error_of([&] { return start_server(port); }),
            concat("io: the store cannot listen on 127.0.0.1:", port,
                   ": Address already in use; is another program using the port? 0 takes any free "
                   "one"));
}

}  // namespace
}  // namespace bp
