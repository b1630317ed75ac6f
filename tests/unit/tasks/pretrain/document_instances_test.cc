// Checks the rules of document_instances.h. Each token's id says where it stands: 1000 times its
// document plus its place in it.
#include "trainer/tasks/pretrain/document_instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr std::int32_t kCls = 1;
constexpr std::int32_t kSep = 2;

// Documents of sentences of 3 to 9 tokens.
DocumentTokens documents_of(const std::vector<int>& sentences) {
  DocumentTokens result;
  std::int32_t number = 0;
  for (const int count : sentences) {
    std::int32_t token = 1000 * ++number;
    for (int i = 0; i < count; ++i) {
      for (int n = 3 + (i * 5 + number) % 7; n > 0; --n) result.tokens.push_back(token++);
      result.sentences.push_back(result.tokens.size());
    }
    result.documents.push_back(result.sentences.size() - 1);
  }
  return result;
}

struct Parts {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
};
Parts parts_of(const Instance& instance) {
  const auto first = static_cast<std::size_t>(instance.first);
  EXPECT_EQ(instance.tokens.front(), kCls);
  EXPECT_EQ(instance.tokens[first - 1], kSep);
  EXPECT_EQ(instance.tokens.back(), kSep);
  Parts parts;
  parts.first.assign(instance.tokens.begin() + 1, instance.tokens.begin() + instance.first - 1);
  if (instance.next != NextSentence::none) {
    parts.second.assign(instance.tokens.begin() + instance.first, instance.tokens.end() - 1);
  }
  return parts;
}

// Whether the tokens follow each other in one document.
bool consecutive(const std::vector<std::int32_t>& tokens) {
  return std::ranges::adjacent_find(tokens, [](int a, int b) { return b != a + 1; }) ==
         tokens.end();
}

InstanceList make_all(const DocumentTokens& documents, InstanceOptions options) {
  options.masks.reset();
  DocumentInstances maker(options, {.cls = kCls, .sep = kSep}, documents, nullptr);
  InstanceList list;
  for (int copy = 0; copy < options.copies; ++copy) {
    for (std::size_t i = 0; i < documents.size(); ++i) {
      maker.add(i, Draws(options.seed, static_cast<std::uint64_t>(copy), i), list);
    }
  }
  return list;
}

TEST(DocumentInstances, HaveTwoSegmentsThatFollowEachOtherOrDoNot) {
  const InstanceList list =
      make_all(documents_of(std::vector<int>(20, 30)), {.max_length = 64, .copies = 50});
  double random = 0;
  double same_document = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Parts parts = parts_of(list[i]);
    ASSERT_FALSE(parts.first.empty());
    ASSERT_FALSE(parts.second.empty());
    ASSERT_LE(list[i].tokens.size(), 64U);
    ASSERT_TRUE(consecutive(parts.first));
    ASSERT_TRUE(consecutive(parts.second));
    const int first_document = parts.first[0] / 1000;
    const int second_document = parts.second[0] / 1000;
    if (list[i].next == NextSentence::follows) {
      ASSERT_EQ(first_document, second_document);
      ASSERT_GT(parts.second.front(), parts.first.back());
    } else {
      ASSERT_EQ(list[i].next, NextSentence::random);
      ++random;
      same_document += first_document == second_document ? 1 : 0;
    }
  }
  EXPECT_EQ(same_document, 0);
  // A draw decides only where there are two sentences or more, and the last one of a document is
  // often alone.
  const auto all = static_cast<double>(list.size());
  EXPECT_GT(random / all, 0.5);
  EXPECT_LT(random / all, 0.6);
}

TEST(DocumentInstances, WithoutNextSentencesHoldEachTokenOnce) {
  const DocumentTokens documents = documents_of({30, 1, 7});
  const InstanceList list = make_all(
      documents, {.max_length = 200, .short_share = 0, .next_sentences = false, .copies = 1});
  std::vector<std::int32_t> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].next, NextSentence::none);
    EXPECT_EQ(list[i].first, list[i].tokens.size());
    const Parts parts = parts_of(list[i]);
    EXPECT_TRUE(consecutive(parts.first));
    seen.insert(seen.end(), parts.first.begin(), parts.first.end());
  }
  EXPECT_EQ(seen, documents.tokens);
  EXPECT_EQ(list.size(), 3U);
}

TEST(DocumentInstances, LoseTokensAtBothEndsWhereTheyAreTooLong) {
  // One sentence of 40 tokens: room for 30.
  DocumentTokens documents;
  for (std::int32_t i = 0; i < 40; ++i) documents.tokens.push_back(1000 + i);
  documents.sentences.push_back(40);
  documents.documents.push_back(1);
  const InstanceList list = make_all(
      documents, {.max_length = 32, .short_share = 0, .next_sentences = false, .copies = 2000});
  double front = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Parts parts = parts_of(list[i]);
    ASSERT_EQ(parts.first.size(), 30U);
    ASSERT_TRUE(consecutive(parts.first));
    front += parts.first[0] - 1000;
  }
  EXPECT_EQ(list.size(), 2000U);
  EXPECT_NEAR(front / 2000, 5, 0.2);  // the deviation of the mean is 0.035
}

TEST(DocumentInstances, AShareIsShort) {
  const DocumentTokens documents = documents_of(std::vector<int>(50, 60));
  const auto mean_length = [&](double share) {
    const InstanceList list = make_all(
        documents, {.max_length = 128, .short_share = share, .next_sentences = false, .copies = 4});
    double sum = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      sum += static_cast<double>(list[i].tokens.size());
    }
    return sum / static_cast<double>(list.size());
  };
  EXPECT_GT(mean_length(0), 100);
  EXPECT_LT(mean_length(1), 70);
}

TEST(DocumentInstances, OfOneDocumentTakeTheRandomSegmentFromIt) {
  const InstanceList list = make_all(documents_of({12}), {.max_length = 32, .copies = 20});
  EXPECT_GT(list.size(), 20U);
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(parts_of(list[i]).second.at(0) / 1000, 1);
  }
}

// RoBERTa's form: two separators between the segments.
TEST(DocumentInstances, HaveTheFormOfTheTokenizer) {
  const DocumentTokens documents = documents_of({12, 12});
  InstanceOptions options{.max_length = 32};
  DocumentInstances maker(options, {.cls = kCls, .sep = kSep, .separators = 2}, documents, nullptr);
  InstanceList list;
  maker.add(0, Draws(1, 0, 0), list);
  ASSERT_GT(list.size(), 0U);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::vector<std::int32_t> tokens(list[i].tokens.begin(), list[i].tokens.end());
    longest = std::max(longest, tokens.size());
    const auto sep = std::ranges::find(tokens, kSep);
    ASSERT_LT(sep + 2, tokens.end());
    EXPECT_EQ(sep[1], kSep);
    EXPECT_NE(sep[2], kSep);
    EXPECT_EQ(list[i].first, sep - tokens.begin() + 2);
    EXPECT_EQ(std::ranges::count(tokens, kSep), 3);
  }
  EXPECT_LE(longest, 32U);
  EXPECT_EQ(test::input_refusal([] { check({.max_length = 5}, 2); }),
            "2: instances of 5 tokens | give a length of 6 or more");
}

TEST(DocumentInstances, InvalidOptionsAreRefused) {
  const auto refusal = [](const InstanceOptions& options) {
    return test::input_refusal([&] { check(options); });
  };
  EXPECT_THAT(refusal({.max_length = 4}),
              StartsWith("2: instances of 4 tokens | give a length of 5 or more"));
  EXPECT_THAT(refusal({.short_share = 1.5}), StartsWith("2: a share of 1.5 short instances | "));
  EXPECT_THAT(refusal({.copies = 0}), StartsWith("2: 0 copies of each document | give 1 or more"));
  InstanceOptions shortest{.max_length = 5};
  check(shortest);
  const InstanceList list = make_all(documents_of({3, 3}), shortest);
  EXPECT_GT(list.size(), 0U);
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i].tokens.size(), 5U);
}

}  // namespace
}  // namespace bp::trainer
