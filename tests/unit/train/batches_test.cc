// The thread that makes micro-batches ahead of time: the batches that it returns, and how it ends.
#include "trainer/train/batches.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/scratch.h"
#include "trainer/store/sample_store.h"
#include "trainer/store/store_writer.h"

namespace bp::trainer {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int kRows = 40;
const RowSamplerOptions kSampling{
    .rows = kRows, .seed = 7, .ranks = 2, .batch = 3, .micro_batches = 2};  // 12 rows per step

// Row r has r % 5 + 2 tokens, of which the second is r.
class BatchesTest : public testing::Test {
 protected:
  void SetUp() override {
    StoreSettings settings;
    settings.task = "classify";
    settings.schema = label_schema();
    settings.names = {"bad", "good"};
    settings.vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
    settings.vocabulary.resize(kRows, "word");
    settings.max_length = 16;
    settings.fingerprint = {{"max length", "16"}};
    settings.source_rows = {kRows};
    StoreWriter writer(store(), settings);
    for (int row = 0; row < kRows; ++row) {
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(row % 5 + 2), 4);
      tokens[1] = row;
      writer.add_text(Split::train, row + 1, "words");
      add_labelled(writer, Split::train, row + 1, row % 2, tokens);
    }
    writer.finish();
  }
  [[nodiscard]] std::string store() const { return scratch_.path("store"); }
  [[nodiscard]] BatchesOptions options(std::int64_t steps, int rank = 0) const {
    return {.store = store(), .sampler = kSampling, .rank = rank, .steps = steps};
  }

 private:
  Scratch scratch_;
};

std::int64_t tokens_of(std::int64_t row) { return row % 5 + 2; }

// docs/features.md, Splits and batches: Batches loaded beside training | always, by threads
TEST_F(BatchesTest, AreABalancedSamplersRowsStepByStepOverSeveralEpochs) {
  constexpr std::int64_t kSteps = 11;  // the fourth step of an epoch has only 4 rows
  auto lengths = std::make_shared<std::vector<std::int32_t>>();
  for (std::int64_t row = 0; row < kRows; ++row) {
    lengths->push_back(static_cast<std::int32_t>(tokens_of(row)));
  }
  RowSamplerOptions balanced = kSampling;
  balanced.balanced = true;
  balanced.lengths = lengths;
  const RowSampler sampler(balanced);
  for (int rank = 0; rank < kSampling.ranks; ++rank) {
    BatchesOptions with = options(kSteps, rank);
    with.first_step = 100;
    EpochPosition position{.epoch = 3, .used = 12};
    with.position = position;
    Batches batches(with);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const StepBatches made = batches.next();
      EXPECT_EQ(made.step, 100 + step);
      ASSERT_EQ(made.micro_batches.size(), 2U);
      std::int64_t world_tokens = 0;
      for (int r = 0; r < kSampling.ranks; ++r) {
        for (int micro = 0; micro < kSampling.micro_batches.first(); ++micro) {
          const auto rows = sampler.rows({position, r, micro});
          for (const std::int64_t row : rows) world_tokens += tokens_of(row);
          if (r != rank) continue;
          const Batch& batch = made.micro_batches[static_cast<std::size_t>(micro)];
          ASSERT_EQ(batch.rows, static_cast<int>(rows.size()));
          for (std::size_t i = 0; i < rows.size(); ++i) {
            EXPECT_EQ(batch.sample_ids[i], rows[i] + 1);
            EXPECT_EQ(batch.lengths[i], tokens_of(rows[i]));
            EXPECT_EQ(batch.token_ids[i * static_cast<std::size_t>(batch.length) + 1], rows[i]);
          }
        }
      }
      EXPECT_EQ(made.world_tokens, world_tokens);
      position = sampler.after(position);
    }
  }
}

// The thread then waits for room, makes a step, or has made all steps.
// docs/features.md, Splits and batches: Data in memory, in shards, memory-mapped or streamed | One
// kind serves all: the store, which is read as needed and which the system caches.
TEST_F(BatchesTest, CanBeDestroyedAtAnyMoment) {
  for (std::int64_t taken = 0; taken < 12; ++taken) {
    for (const std::int64_t steps : {taken, taken + 1, taken + 1000}) {
      Batches batches(options(steps));
      for (std::int64_t step = 0; step < taken; ++step) EXPECT_EQ(batches.next().step, step);
    }
  }
}

TEST_F(BatchesTest, AnErrorArrivesAfterTheStepsBeforeIt) {
  const RowSampler sampler(kSampling);
  const EpochPosition third = sampler.after(sampler.after({}));
  const std::int64_t row = sampler.rows({third, 0, 1}).front();
  {
    SQLite::Database database(store(), SQLite::OPEN_READWRITE);
    database.exec(concat("UPDATE train_samples SET label = 9 WHERE position = ", row));
  }
  Batches batches(options(1000));
  EXPECT_EQ(batches.next().step, 0);
  EXPECT_EQ(batches.next().step, 1);
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT([&] { (void)batches.next(); },
                ThrowsMessage<StoreError>(
                    HasSubstr(concat("is damaged: sample ", row, " of train is invalid"))));
  }
  // Rank 1 does not read the damaged row.
  Batches others(options(4, 1));
  for (std::int64_t step = 0; step < 4; ++step) EXPECT_EQ(others.next().step, step);
}

}  // namespace
}  // namespace bp::trainer
