// Entities of tag sequences, and their scores.
#include "trainer/tasks/tokens/entities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/places.h"
#include "tests/support/refusal.h"
#include "trainer/tasks/tokens/entity_report.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Found = std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>;

// Returns the numbers of tags, for which the letters a to z, A to Z may stand.
std::vector<int> numbers_of(const nlohmann::json& tags) {
  if (tags.is_array()) return tags.get<std::vector<int>>();
  std::vector<int> numbers;
  for (const char letter : tags.get<std::string>()) {
    numbers.push_back(letter >= 'a' ? letter - 'a' : letter - 'A' + 26);
  }
  return numbers;
}

Found found_in(const EntityTags& tags, const std::vector<int>& sentence) {
  Found found;
  for (const Entity& entity : tags.entities_of(sentence)) {
    found.emplace_back(tags.types()[static_cast<std::size_t>(entity.type)], entity.first,
                       entity.last);
  }
  return found;
}

// tests/golden/entities/make.py makes the file.
// docs/acceptance.md, Tasks: Scores of entities are seqeval's.
// docs/features.md, Input: Named entities | `--task tokens`
TEST(Entities, EqualSeqeval) {
  std::ifstream golden(kSourceDir + "/tests/golden/entities/golden.jsonl");
  int cases = 0;
  std::size_t sequences = 0;
  for (std::string line; std::getline(golden, line); ++cases) {
    const auto expected = nlohmann::json::parse(line);
    const EntityTags tags(expected["tags"].get<std::vector<std::string>>());
    EntityTally tally(tags);
    for (std::size_t i = 0; i < expected["labels"].size(); ++i) {
      const std::vector<int> labels = numbers_of(expected["labels"][i]);
      const std::vector<int> predictions = numbers_of(expected["predictions"][i]);
      EXPECT_EQ(found_in(tags, labels), expected["entities"][i].get<Found>())
          << "case " << cases << ", sentence " << i;
      tally.add(labels, predictions);
      sequences += 2;
    }
    const EntityScores scores = entity_scores(tally);
    ASSERT_EQ(entity_report(scores, expected["digits"]), expected["report"].get<std::string>())
        << "case " << cases;
    EXPECT_EQ(scores.accuracy, expected["accuracy"].get<double>()) << "case " << cases;
  }
  EXPECT_GT(cases, 150);
  EXPECT_GT(sequences, 3000U);
}

TEST(Entities, SentencesEndThem) {
  const EntityTags tags({"O", "B-PER", "I-PER"});
  EXPECT_THAT(tags.types(), ElementsAre("PER", "_"));
  EXPECT_THAT(EntityTags({"B-PER"}).types(), ElementsAre("PER", "_"));
  EXPECT_THAT(tags.entities_of(std::vector{1, 2}), ElementsAre(Entity{0, 0, 1}));
  EXPECT_THAT(tags.entities_of(std::vector{2}), ElementsAre(Entity{0, 0, 0}));
  EXPECT_THAT(tags.entities_of({}), IsEmpty());
}

// Ranks add up their counts, so the result does not depend on which rank has which sentence.
// docs/acceptance.md, Tasks: Scores of entities are the same for any number of ranks.
TEST(Entities, CountsOfRanksAddUp) {
  const EntityTags tags({"O", "B-PER", "I-PER", "B-LOC"});
  EntityTally whole(tags);
  EntityTally first(tags);
  EntityTally second(tags);
  const std::vector<int> labels = {1, 2, 0, 3};
  const std::vector<int> predictions = {1, 0, 0, 3};
  whole.add(labels, predictions);
  whole.add(labels, labels);
  first.add(labels, predictions);
  second.add(labels, labels);
  std::ranges::transform(first.values(), second.values(), first.values().begin(), std::plus());
  EXPECT_TRUE(std::ranges::equal(first.values(), whole.values()));
  EXPECT_EQ(first.words(), 8);
  EXPECT_EQ(first.correct_words(), 7);
  const EntityCount loc = first.count(0);
  EXPECT_EQ(std::tuple(loc.correct, loc.predicted, loc.labelled), std::tuple(2, 2, 2));
  const EntityCount per = first.count(1);
  EXPECT_EQ(std::tuple(per.correct, per.predicted, per.labelled), std::tuple(1, 2, 2));
}

TEST(Entities, ReportWithoutAnyEntity) {
  const EntityTags tags({"O", "B-PER"});
  EntityTally tally(tags);
  tally.add(std::vector{0, 0}, std::vector{0, 0});
  EXPECT_EQ(entity_report(entity_scores(tally)),
            "              precision    recall  f1-score   support\n"
            "\n"
            "\n"
            "   micro avg       0.00      0.00      0.00         0\n"
            "   macro avg       0.00      0.00      0.00         0\n"
            "weighted avg       0.00      0.00      0.00         0\n");
  EXPECT_EQ(entity_scores(tally).accuracy, 1);
  EXPECT_EQ(entity_scores(EntityTally(tags)).accuracy, 0);
}

TEST(Entities, RefusesWhatCannotBeCompared) {
  EXPECT_EQ(bp::test::refusal_of([] {
              return EntityTags({"O", ""}).types().size();
            }),
            "tag 1 of the model is empty");
  const EntityTags tags({"O", "B-PER"});
  EntityTally tally(tags);
  EXPECT_EQ(bp::test::refusal_of([&] {
              tally.add(std::vector{0, 0}, std::vector{0});
              return 0;
            }),
            "1 predicted tags for 2 words");
}

}  // namespace
}  // namespace bp::trainer
