#include "trainer/tasks/pretrain/make_instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/tasks/pretrain/text_files.h"

namespace bp::trainer {
namespace {

using ::testing::IsEmpty;

constexpr std::int32_t kFirstLetter = 5;

Vocabulary letters() {
  Vocabulary result{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}};
  for (char c = 'a'; c <= 'z'; ++c) result.tokens.emplace_back(1, c);
  for (char c = 'a'; c <= 'z'; ++c) result.tokens.push_back(std::string("##") + c);
  return result;
}

// An instance as numbers, to compare.
std::vector<std::int32_t> flat(const Instance& instance) {
  std::vector<std::int32_t> result = {instance.first, static_cast<std::int32_t>(instance.next)};
  for (const auto& numbers : {instance.tokens, instance.positions, instance.ids}) {
    result.push_back(static_cast<std::int32_t>(numbers.size()));
    result.insert(result.end(), numbers.begin(), numbers.end());
  }
  return result;
}

class MakeInstances : public TextFiles {
 protected:
  // 26 documents, of which each is written in one letter.
  MakeInstances() {
    std::string text;
    for (char c = 'a'; c <= 'z'; ++c) {
      for (int sentence = 0; sentence < 5 + c % 4; ++sentence) {
        for (int word = 0; word < 4 + (sentence * 3 + c) % 5; ++word) text += {c, ' '};
        text += "\n";
      }
      text += "\n";
    }
    file_ = write("letters", text);
  }

  std::vector<std::vector<std::int32_t>> make(const InstanceOptions& options,
                                              std::size_t threads,
                                              std::size_t block_bytes = 100) {
    std::vector<std::vector<std::int32_t>> all;
    counts_ = make_instances({{file_}, TextForm::sentences, block_bytes}, letters(), true, options,
                             threads, [&](const Instance& i) { all.push_back(flat(i)); });
    return all;
  }

  InstanceOptions options_{.max_length = 24, .copies = 3, .seed = 4};
  std::string file_;
  InstanceCounts counts_;
};

TEST_F(MakeInstances, TheResultDoesNotDependOnTheThreads) {
  const auto alone = make(options_, 0);
  EXPECT_GT(alone.size(), 200U);
  EXPECT_EQ(counts_.instances, std::ssize(alone));
  EXPECT_EQ(counts_.documents, 26);
  for (const std::size_t threads : {1U, 2U, 5U}) {
    EXPECT_EQ(make(options_, threads), alone);
  }
  options_.seed = 5;
  EXPECT_NE(make(options_, 2), alone);
}

// Blocks of 100 bytes hold one or two documents. The random segment of a block with one is of the
// document before it.
TEST_F(MakeInstances, RandomSegmentsAreOfOtherDocuments) {
  options_.copies = 20;
  options_.masks.reset();
  std::set<std::int32_t> with_random;
  (void)make_instances(
      {{file_}, TextForm::sentences, 30}, letters(), true, options_, 2, [&](const Instance& i) {
        const std::int32_t first = i.tokens[1];
        const std::int32_t second = i.tokens[static_cast<std::size_t>(i.first)];
        if (i.next == NextSentence::follows) {
          ASSERT_EQ(first, second);
        } else if (first > kFirstLetter) {  // before the first document there is none
          ASSERT_NE(first, second);
          with_random.insert(first);
        }
      });
  EXPECT_EQ(with_random.size(), 25U);
}

TEST_F(MakeInstances, MasksAreOfTheInstance) {
  int masked = 0;
  (void)make_instances({{file_}}, letters(), true, options_, 2, [&](const Instance& i) {
    ASSERT_FALSE(i.positions.empty());
    ASSERT_EQ(i.positions.size(), i.ids.size());
    ++masked;
    for (const std::int32_t position : i.positions) {
      ASSERT_GT(position, 0);
      ASSERT_LT(position, std::ssize(i.tokens) - 1);
      ASSERT_NE(position, i.first - 1);
    }
  });
  EXPECT_GT(masked, 100);
}

TEST_F(MakeInstances, TextWithoutTokensGivesNone) {
  file_ = write("empty", "\n\n  \n\xE2\x80\x8B\n\n\xE2\x80\x8B\n");
  EXPECT_THAT(make(options_, 2), IsEmpty());
  EXPECT_EQ(counts_.documents, 0);
  file_ = write("one", "a b c\n\n\xE2\x80\x8B\n");
  EXPECT_EQ(make(options_, 2, 1).size(), 3U);
  EXPECT_EQ(counts_.documents, 1);
  EXPECT_EQ(counts_.sentences, 1);
  EXPECT_EQ(counts_.tokens, 3);
}

TEST_F(MakeInstances, AnErrorOfTheSinkEndsIt) {
  EXPECT_THROW((void)make_instances({{file_}}, letters(), true, options_, 2,
                                    [](const Instance&) { throw std::runtime_error("full"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace bp::trainer
