#include "trainer/tasks/pretrain/make_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/data/input_refusal.h"
#include "tests/unit/tasks/pretrain/text_files.h"
#include "trainer/tasks/pretrain/shard_reader.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

using Flat = std::vector<std::int32_t>;

Flat flat_instance(const Instance& instance) {
  Flat result = {instance.first, static_cast<std::int32_t>(instance.next)};
  for (const auto& numbers : {instance.tokens, instance.positions, instance.ids}) {
    result.push_back(static_cast<std::int32_t>(numbers.size()));
    result.insert(result.end(), numbers.begin(), numbers.end());
  }
  return result;
}

class MakeShards : public TextFiles {
 protected:
  MakeShards() {
    for (char c = 'a'; c <= 'z'; ++c) vocabulary_.tokens.emplace_back(1, c);
    std::string text;
    for (int document = 0; document < 40; ++document) {
      for (int word = 0; word < 60; ++word) {
        text += {static_cast<char>('a' + (document + word * 7) % 26), word % 9 == 8 ? '\n' : ' '};
      }
      text += "\n\n";
    }
    source_.files = {write("text", text)};
  }
  [[nodiscard]] MadeShards make(const ShardFiles& to) const {
    return make_shards(source_, vocabulary_, true, options_, 2, to);
  }

  Vocabulary vocabulary_{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}};
  TextSource source_;
  InstanceOptions options_{.max_length = 32, .copies = 3};
};

// docs/features.md, Input: Pre-training data made from plain text | `bert_train shards`
TEST_F(MakeShards, HoldEachInstanceOnceInAnotherOrder) {
  const MadeShards made = make({path("train"), 100, folder()});
  ASSERT_GE(made.files.size(), 4U);
  EXPECT_EQ(made.files[0], path("train_0000.hdf5"));
  std::vector<Flat> in_shards;
  for (const std::string& file : made.files) {
    ShardReader reader(file, std::ssize(vocabulary_.tokens));
    EXPECT_TRUE(reader.size() == 100 || &file == &made.files.back());
    while (reader.next()) in_shards.push_back(flat_instance(reader.instance()));
  }
  std::vector<Flat> all;
  (void)make_instances(source_, vocabulary_, true, options_, 0,
                       [&](const Instance& i) { all.push_back(flat_instance(i)); });
  EXPECT_EQ(made.counts.instances, std::ssize(all));
  EXPECT_NE(in_shards, all);
  std::ranges::sort(in_shards);
  std::ranges::sort(all);
  EXPECT_EQ(in_shards, all);
}

TEST_F(MakeShards, OptionsThatNoShardCanHaveAreRefused) {
  const auto refusal = [&](std::int64_t rows) {
    return test::input_refusal([&] { (void)make({path("x"), rows, folder()}); });
  };
  EXPECT_EQ(refusal(0), "2: shards of 0 rows | give 1 or more");
  options_.masks->most = 0;
  EXPECT_THAT(refusal(1), StartsWith("2: shards without a number of masked tokens | a shard has "));
  options_.masks.reset();
  EXPECT_THAT(refusal(1), StartsWith("2: shards without a number of masked tokens | a shard has "));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 1) << "only the text";
}

}  // namespace
}  // namespace bp::trainer
