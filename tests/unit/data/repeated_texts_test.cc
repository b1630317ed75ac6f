// Counting texts that occur more than once, in memory that does not grow with their number.
// docs/acceptance.md, Data: The memory of a preparation does not grow with the file. The first bad
// row is named.
#include "trainer/prepare/repeated_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/full_disk.h"
#include "trainer/prepare/sorted_digests.h"

namespace bp::trainer {
namespace {

using testing::HasSubstr;

TEST(SortedDigestsTest, SortsMoreThanFitsIntoMemoryAndLeavesNoFile) {
  for (const std::size_t in_memory : {1, 7, 1000, 10'000, 10'001}) {
    SCOPED_TRACE(in_memory);
    const Scratch scratch;
    SortedDigests digests(scratch.path(), in_memory);
    std::vector<NumberedDigest> expected;
    for (std::int64_t row = 0; row < 10'000; ++row) {
      const NumberedDigest digest{digest_of(concat(row * 7919 % 3000)), row};
      digests.add(digest);
      expected.push_back(digest);
    }
    EXPECT_THAT(scratch.names(), testing::IsEmpty()) << "the temporary file must have no name";
    std::sort(expected.begin(), expected.end());
    std::vector<NumberedDigest> sorted;
    digests.for_each([&](const NumberedDigest& digest) { sorted.push_back(digest); });
    EXPECT_TRUE(sorted == expected);
  }
}

TEST(SortedDigestsTest, OnAFullDiskSaysWhere) {
  const Scratch scratch;
  EXPECT_THAT(error_on_full_disk(scratch, 100'000,
                                 [&] {
                                   SortedDigests digests(scratch.path(), 1000);
                                   for (std::int64_t row = 0; row < 100'000; ++row) {
                                     digests.add({digest_of(concat(row)), row});
                                   }
                                 }),
              HasSubstr(concat("cannot write a temporary file in ", scratch.path(), ": ")));
}

TEST(SpillFileTest, WithoutAFolderNamesTheReason) {
  SpillFile file("/no/such/folder");
  try {
    file.append("a", 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(),
                HasSubstr("cannot write a temporary file in /no/such/folder: No such"));
  }
}

// Three sources of random texts: which rows a rule without shortcuts drops and counts.
class TextRowsTest : public testing::Test {
 protected:
  static constexpr std::array<std::int64_t, 3> kRows = {3000, 700, 500};

  TextRowsTest() {
    std::mt19937 random(5);
    std::int64_t row = 0;
    for (std::size_t source = 0; source < kRows.size(); ++source) {
      for (std::int64_t i = 0; i < kRows[source]; ++i) {
        texts_.push_back(concat("text ", random() % 2500));
        rows_of_[texts_.back()].push_back({source, row++});
      }
    }
  }
  struct Place {
    std::size_t source = 0;
    std::int64_t row = 0;
  };

  TextRows text_rows(const Scratch& scratch, std::size_t in_memory) const {
    TextRows rows(scratch.path(), in_memory);
    std::size_t at = 0;
    for (const std::int64_t count : kRows) {
      rows.begin_source();
      for (std::int64_t i = 0; i < count; ++i) rows.add(texts_[at++]);
    }
    return rows;
  }

  Scratch scratch_;
  std::vector<std::string> texts_;
  std::map<std::string, std::vector<Place>> rows_of_;
};

TEST_F(TextRowsTest, KeepTheFirstRowInTheLastSource) {
  std::set<std::int64_t> expected;
  for (const auto& [text, places] : rows_of_) {
    const std::size_t last = places.back().source;
    const auto kept = std::find_if(places.begin(), places.end(),
                                   [&](const Place& place) { return place.source == last; });
    for (const Place& place : places) {
      if (place.row != kept->row) expected.insert(place.row);
    }
  }
  for (const std::size_t in_memory : {50, 100'000}) {
    RowSet dropped = text_rows(scratch_, in_memory).repeats();
    dropped.index();
    EXPECT_EQ(dropped.size(), static_cast<std::int64_t>(expected.size()));
    std::int64_t below = 0;
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(texts_.size()) + 600; ++row) {
      ASSERT_EQ(dropped.contains(row), expected.count(row) == 1) << row;
      ASSERT_EQ(dropped.count_below(row), below) << row;
      below += dropped.contains(row) ? 1 : 0;
    }
  }
}

TEST_F(TextRowsTest, CountTextsOfDevAndTestThatTrainHasToo) {
  constexpr std::array kSplits = {Split::train, Split::dev, Split::test};
  TextRows::Findings expected;
  for (const auto& [text, places] : rows_of_) {
    expected.repeated += static_cast<std::int64_t>(places.size()) - 1;
    if (places.front().source != 0) continue;
    for (const Place& place : places) {
      expected.dev_in_train += place.source == 1 ? 1 : 0;
      expected.test_in_train += place.source == 2 ? 1 : 0;
    }
  }
  ASSERT_GT(expected.dev_in_train, 0);
  for (const std::size_t in_memory : {50, 100'000}) {
    const TextRows::Findings found =
        text_rows(scratch_, in_memory).findings([&](std::size_t source, std::int64_t row) {
          EXPECT_GE(row, 1);
          EXPECT_LE(row, kRows[source]);
          return kSplits[source];
        });
    EXPECT_EQ(found.dev_in_train, expected.dev_in_train);
    EXPECT_EQ(found.test_in_train, expected.test_in_train);
    EXPECT_EQ(found.repeated, expected.repeated);
  }
}

}  // namespace
}  // namespace bp::trainer
