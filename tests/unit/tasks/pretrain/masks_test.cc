// Checks the rules of masks.h: how many tokens are chosen, which, and what hides them.
#include "trainer/tasks/pretrain/masks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Lt;

constexpr std::int32_t kMask = 4;
constexpr std::int32_t kFirstWord = 5;
constexpr std::int32_t kFirstPiece = 45;
constexpr std::int32_t kVocabulary = 65;

// 5 special tokens, 40 words and 20 pieces.
Vocabulary vocabulary() {
  Vocabulary result{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}};
  for (int i = 0; i < 40; ++i) result.tokens.push_back("w" + std::to_string(i));
  for (int i = 0; i < 20; ++i) result.tokens.push_back("##p" + std::to_string(i));
  return result;
}

// [CLS], `words` tokens, [SEP]. Every third word has two more pieces.
std::vector<std::int32_t> sample(int words, bool with_pieces) {
  std::vector<std::int32_t> ids = {2};
  for (int i = 0; i < words; ++i) {
    ids.push_back(kFirstWord + i % 40);
    if (with_pieces && i % 3 == 0) {
      ids.push_back(kFirstPiece + i % 20);
      ids.push_back(kFirstPiece + (i + 7) % 20);
    }
  }
  ids.push_back(3);
  return ids;
}

// The sum of (observed - expected)^2 / expected.
double chi_square(const std::vector<double>& observed, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    sum += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i];
  }
  return sum;
}

TEST(Masks, TheNumberIsTheShareRoundedAsInPython) {
  const Masker masker(vocabulary(), {});
  EXPECT_EQ(masker.count_of(2), 1);   // max(1, round(0.3))
  EXPECT_EQ(masker.count_of(10), 2);  // round(1.5)
  EXPECT_EQ(masker.count_of(30), 4);  // round(4.5): the even number
  EXPECT_EQ(masker.count_of(128), 19);
  EXPECT_EQ(Masker(vocabulary(), {.share = 0.5, .most = 20}).count_of(128), 20);
  for (const int words : {1, 8, 28, 100}) {
    std::vector<std::int32_t> ids = sample(words, false);
    const Masks masks = masker.hide(ids, Draws(1, 2, 3));
    EXPECT_EQ(masks.positions.size(), masker.count_of(ids.size()));
  }
}

TEST(Masks, HideWhatTheyReportAndNothingElse) {
  const Masker masker(vocabulary(), {.share = 0.3});
  for (std::int64_t n = 0; n < 200; ++n) {
    const std::vector<std::int32_t> before = sample(40, true);
    std::vector<std::int32_t> restored = before;
    const Masks masks = masker.hide(restored, masker.draws_of(1, 0, n));
    ASSERT_EQ(masks.positions.size(), masks.ids.size());
    for (std::size_t i = 0; i < masks.ids.size(); ++i) {
      ASSERT_TRUE(i == 0 || masks.positions[i - 1] < masks.positions[i]);
      restored[static_cast<std::size_t>(masks.positions[i])] = masks.ids[i];
    }
    ASSERT_EQ(restored, before);
  }
}

TEST(Masks, SpecialTokensAreNeverChosen) {
  const Masker masker(vocabulary(), {.share = 0.9});
  for (std::int64_t n = 0; n < 100; ++n) {
    std::vector<std::int32_t> ids = {2, 1, 5, 4, 6, 3, 7, 1, 3, 0};
    const Masks masks = masker.hide(ids, masker.draws_of(7, 0, n));
    EXPECT_THAT(masks.positions, ElementsAre(2, 4, 6));
  }
  std::vector<std::int32_t> only_special = {2, 3};
  EXPECT_THAT(masker.hide(only_special, Draws(1, 1, 1)).positions, IsEmpty());
}

// 100,000 tokens are hidden. With 2 degrees of freedom chi-square exceeds 20 once in 22,000 times.
// docs/features.md, Input: Pre-training data made from plain text | `bert_train shards`
TEST(Masks, EightyPercentBecomeMaskTenAnyTokenTenStay) {
  const Masker masker(vocabulary(), {});
  std::array<double, 3> seen = {};
  std::vector<double> replaced(kVocabulary);
  for (std::int64_t n = 0; n < 6700; ++n) {
    const std::vector<std::int32_t> before = sample(98, false);
    std::vector<std::int32_t> ids = before;
    for (const std::int32_t position : masker.hide(ids, masker.draws_of(3, 1, n)).positions) {
      const auto at = static_cast<std::size_t>(position);
      ++seen[ids[at] == kMask ? 0 : ids[at] == before[at] ? 1 : 2];
      if (ids[at] != kMask && ids[at] != before[at]) ++replaced[static_cast<std::size_t>(ids[at])];
    }
  }
  const double all = seen[0] + seen[1] + seen[2];
  EXPECT_EQ(all, 6700 * 15);
  // A random token may be [MASK] or the token itself.
  const double random = 0.1 / kVocabulary;
  EXPECT_LT(chi_square({seen[0], seen[1], seen[2]},
                       {all * (0.8 + random), all * (0.1 + random), all * (0.1 - 2 * random)}),
            20);
  // Each token but [MASK] replaces about as many. With 63 degrees of freedom chi-square exceeds
  // 120 once in 50,000 times.
  replaced.erase(replaced.begin() + kMask);
  EXPECT_LT(chi_square(replaced, std::vector<double>(64, seen[2] / 64)), 130);
}

// With 97 degrees of freedom chi-square exceeds 165 once in 50,000 times.
TEST(Masks, EachPositionIsChosenAsOftenAsTheOthers) {
  const Masker masker(vocabulary(), {});
  std::vector<double> chosen(98);
  for (std::int64_t n = 0; n < 20000; ++n) {
    std::vector<std::int32_t> ids = sample(98, false);
    for (const std::int32_t position : masker.hide(ids, masker.draws_of(3, n, 9)).positions) {
      ++chosen.at(static_cast<std::size_t>(position - 1));
    }
  }
  EXPECT_LT(chi_square(chosen, std::vector<double>(98, 20000.0 * 15 / 98)), 165);
}

TEST(Masks, WholeWordsAreNeverCut) {
  const Masker masker(vocabulary(), {.whole_words = true});
  std::map<std::size_t, int> words_of_size;
  for (std::int64_t n = 0; n < 2000; ++n) {
    const std::vector<std::int32_t> before = sample(30, true);
    std::vector<std::int32_t> ids = before;
    const Masks masks = masker.hide(ids, masker.draws_of(1, 0, n));
    ASSERT_LE(masks.positions.size(), masker.count_of(ids.size()));
    std::vector<bool> chosen(before.size());
    for (const std::int32_t position : masks.positions) {
      chosen[static_cast<std::size_t>(position)] = true;
    }
    for (std::size_t i = 1; i < before.size(); ++i) {
      ASSERT_TRUE(before[i] < kFirstPiece || chosen[i] == chosen[i - 1]) << n << ", token " << i;
    }
    for (const std::int32_t id : masks.ids) ++words_of_size[id >= kFirstPiece ? 1 : 0];
  }
  EXPECT_GT(words_of_size[1], 1000) << "words of several pieces are chosen too";
}

TEST(Masks, WithoutWholeWordsTheyAreCut) {
  const Masker masker(vocabulary(), {});
  std::vector<std::int32_t> ids = sample(30, true);
  const std::vector<std::int32_t> before = ids;
  const Masks masks = masker.hide(ids, masker.draws_of(1, 0, 0));
  const auto is_cut = [&](std::int32_t position) {
    return before[static_cast<std::size_t>(position)] >= kFirstPiece &&
           std::ranges::find(masks.positions, position - 1) == masks.positions.end();
  };
  EXPECT_TRUE(std::ranges::any_of(masks.positions, is_cut));
}

TEST(Masks, DependOnSeedEpochAndSampleOnly) {
  const Masker dynamic(vocabulary(), {});
  const auto mask = [](const Masker& masker, std::uint64_t seed, int epoch, int number) {
    std::vector<std::int32_t> ids = sample(60, true);
    (void)masker.hide(ids, masker.draws_of(seed, epoch, number));
    return ids;
  };
  EXPECT_EQ(mask(dynamic, 1, 2, 3), mask(Masker(vocabulary(), {}), 1, 2, 3));
  EXPECT_NE(mask(dynamic, 1, 2, 3), mask(dynamic, 2, 2, 3));
  EXPECT_NE(mask(dynamic, 1, 2, 3), mask(dynamic, 1, 3, 3));
  EXPECT_NE(mask(dynamic, 1, 2, 3), mask(dynamic, 1, 2, 4));
  const Masker fixed(vocabulary(), {.dynamic = false});
  EXPECT_EQ(mask(fixed, 1, 2, 3), mask(fixed, 1, 3, 3));
  EXPECT_NE(mask(fixed, 1, 2, 3), mask(fixed, 1, 2, 4));
}

// <s>, three words of several pieces, <unk>, </s>, <pad>.
std::vector<std::int32_t> roberta_sample(const Vocabulary& vocabulary) {
  const SampleForm form = form_of(vocabulary);
  std::vector<std::int32_t> ids = {form.cls};
  Tokenizer(vocabulary).encode("smallest letters, capitals", ids);
  ids.insert(ids.end(), {form.unknown, form.sep, form.pad});
  return ids;
}

const Vocabulary& roberta() {
  static const Vocabulary kRoberta =
      Vocabulary::read(kSourceDir + "/tests/golden/tokenizers/roberta.json");
  return kRoberta;
}

TEST(Masks, AreTheTokenizersOwn) {
  const SampleForm form = form_of(roberta());
  const std::vector<std::int32_t> before = roberta_sample(roberta());
  const Masker masker(roberta(), {.share = 0.9});
  std::ptrdiff_t hidden = 0;
  for (std::int64_t n = 0; n < 50; ++n) {
    std::vector<std::int32_t> ids = before;
    EXPECT_EQ(masker.hide(ids, masker.draws_of(1, 0, n)).positions.size(), before.size() - 4);
    EXPECT_EQ(ids.front(), form.cls);
    EXPECT_TRUE(std::equal(ids.end() - 3, ids.end(), before.end() - 3));
    hidden += std::ranges::count(ids, form.mask);
  }
  EXPECT_GT(hidden, 100);
}

TEST(Masks, WholeWordsOfBytesAreNeverCut) {
  const std::vector<std::int32_t> before = roberta_sample(roberta());
  const Masker masker(roberta(), {.share = 0.6, .whole_words = true});
  std::size_t chosen = 0;
  for (std::int64_t n = 0; n < 200; ++n) {
    std::vector<std::int32_t> ids = before;
    const Masks masks = masker.hide(ids, masker.draws_of(1, 0, n));
    chosen += masks.positions.size();
    const auto is_chosen = [&](std::size_t at) {
      return std::ranges::count(masks.positions, static_cast<std::int32_t>(at)) > 0;
    };
    for (std::size_t at = 2; at + 3 < before.size(); ++at) {
      const std::string& token = roberta().tokens[static_cast<std::size_t>(before[at])];
      ASSERT_TRUE(token.starts_with("\u0120") || is_chosen(at) == is_chosen(at - 1)) << n << at;
    }
  }
  EXPECT_GT(chosen, 200U);
}

// Stored samples with static masks and resumed runs rely on it: the numbers must never change.
TEST(Masks, TheDrawsStayTheSameInLaterVersions) {
  Draws draws(1, 2, 3);
  const std::uint64_t first = draws.next();
  const std::uint64_t second = draws.next();
  EXPECT_EQ(first, 0xdd034ea7d44e8739U);
  EXPECT_EQ(second, 0x5b70c9b40c7440b6U);
}

TEST(Draws, BelowGivesEachNumberAndNoOther) {
  Draws draws(5, 6, 7);
  std::vector<double> seen(7);
  for (int i = 0; i < 70000; ++i) {
    const std::uint32_t number = draws.below(7);
    ASSERT_THAT(number, Lt(7U));
    ++seen[number];
  }
  EXPECT_LT(chi_square(seen, std::vector<double>(7, 10000)), 33);  // once in 90,000 times
  EXPECT_EQ(draws.below(1), 0U);
}

TEST(Masks, InvalidOptionsAndVocabulariesAreRefused) {
  EXPECT_EQ(test::input_refusal([] { (void)Masker(vocabulary(), {.share = 1}); }),
            "2: a share of 1 masked tokens | give a number between 0 and 1; BERT's is 0.15");
  EXPECT_EQ(test::input_refusal([] { (void)Masker(vocabulary(), {.most = -1}); }),
            "2: at most -1 masked tokens in a sample | give 0 for no bound, or a number above 0");
  Vocabulary without = vocabulary();
  without.tokens[kMask] = "mask";
  EXPECT_EQ(test::input_refusal([&] { (void)Masker(without, {}); }),
            "65: the vocabulary has no [MASK] | pre-training hides tokens behind it: add the line "
            "[MASK] to the vocabulary");
}

}  // namespace
}  // namespace bp::trainer
