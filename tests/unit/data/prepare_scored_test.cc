// A file that is prepared for scoring by a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/classify_data.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/classify/class_config.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;

class PrepareScored : public PrepareTest {
 protected:
  PrepareOptions scored(const std::string& rows) {
    PrepareOptions with = options(scratch_.write("r.csv", "text,label\n" + rows));
    const auto task = classify();
    EncoderSpec model;
    model.head = head_of({.labels = {"good", "fair", "bad"}});
    EXPECT_EQ(task->score_by(model).size(), 3U);
    with.task = task;
    with.scored = true;
    with.store = scratch_.path("s.sqlite");
    return with;
  }
};

TEST_F(PrepareScored, AllRowsAreInOneSplitWithTheModelsLabels) {
  const SampleStore store = SampleStore::open(run(scored("a,bad\nb,good\nc,\n")).store);
  EXPECT_EQ(store.size(Split::train) + store.size(Split::dev), 0);
  ASSERT_EQ(store.size(Split::test), 3);
  EXPECT_THAT(store.names(), ElementsAre("good", "fair", "bad"));
  EXPECT_EQ(label_of(store.load(Split::test, 0)), 2);
  EXPECT_EQ(label_of(store.load(Split::test, 1)), 0);
  EXPECT_EQ(label_of(store.load(Split::test, 2)), -1);
}

TEST_F(PrepareScored, ALabelThatTheModelLacksIsNamedWithItsRow) {
  expect_refused(scored("a,bad\nb,god\n"), 65,
                 "row 2 (line 3): label 'god' is not among those of the model: good, fair, bad",
                 "did you mean 'good'?");
}

TEST_F(PrepareScored, TheModelsVocabularyIsNeeded) {
  PrepareOptions with = scored("a,bad\n");
  with.vocabulary = "";
  expect_refused(with, 2, "the vocabulary of the model is needed to score ", "--vocab");
}

}  // namespace
}  // namespace bp::trainer
