// DistributedSampler: the ranks share the rows of a dataset exactly, whatever the number of ranks.
#include "bp/torch/sampler.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/base.h>
#include <torch/data/datasets/map.h>
#include <torch/data/transforms/stack.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>

#include "bp/collective.h"
#include "bp/error.h"
#include "tests/support/run_ranks.h"
#include "trainer/batches/row_sampler.h"

namespace bp {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;

using RowNumbers = std::vector<std::int64_t>;

// Returns the rows of the next batch that all ranks use, in the order of ranks. Returns nothing at
// the end of the epoch, which must come at the same batch on all ranks.
std::optional<RowNumbers> next_of_all(Communicator& world,
                                      DistributedSampler& sampler,
                                      std::size_t batch_size,
                                      std::size_t batch) {
  const auto mine = sampler.next(batch_size);
  const auto ended = all_gather_object(world, std::string(mine ? "row" : "end"));
  EXPECT_THAT(ended, Each(ended[0])) << "a rank has more batches than another";
  if (!mine) {
    return std::nullopt;
  }
  EXPECT_FALSE(mine->empty());
  const auto count = static_cast<std::ptrdiff_t>(sampler.weight(batch));
  EXPECT_TRUE(count == std::ssize(*mine) || (count == 0 && mine->size() == 1));
  std::string text;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    text += std::to_string((*mine)[static_cast<std::size_t>(i)]) + ' ';
  }
  RowNumbers all;
  for (const std::string& part : all_gather_object(world, text)) {
    std::istringstream stream(part);
    for (std::int64_t row = 0; stream >> row;) {
      all.push_back(row);
    }
  }
  return all;
}

std::vector<RowNumbers> epoch_of_all(Communicator& world,
                                     DistributedSampler& sampler,
                                     std::size_t batch_size) {
  std::vector<RowNumbers> batches;
  sampler.reset();
  while (auto rows = next_of_all(world, sampler, batch_size, batches.size())) {
    batches.push_back(std::move(*rows));
  }
  return batches;
}

// docs/acceptance.md, Optimizer: A sampler for torch::data gives each row once an epoch, in the
// same batches on any number of ranks.
TEST(DistributedSampler, EveryRowOnceAnEpochInTheSameBatchesOnAnyNumberOfRanks) {
  for (const std::size_t rows : {0U, 1U, 7U, 64U, 101U}) {
    for (const std::size_t batch_size : {1U, 8U, 33U}) {
      Communicator alone = Communicator::create();
      DistributedSampler reference(alone, rows, {.seed = 5});
      const auto first = epoch_of_all(alone, reference, batch_size);
      const auto second = epoch_of_all(alone, reference, batch_size);
      EXPECT_EQ(first.size(), (rows + batch_size - 1) / batch_size);
      EXPECT_TRUE(rows < 8 || first != second) << "each epoch must have an order of its own";
      RowNumbers used;
      for (const RowNumbers& batch : second) {
        used.insert(used.end(), batch.begin(), batch.end());
      }
      std::ranges::sort(used);
      RowNumbers every(rows);
      std::iota(every.begin(), every.end(), 0);
      EXPECT_EQ(used, every);
      for (const int ranks : {2, 3, 5}) {
        run_ranks(ranks, [&](Communicator& world) {
          DistributedSampler sampler(world, rows, {.seed = 5});
          EXPECT_EQ(epoch_of_all(world, sampler, batch_size), first);
          EXPECT_EQ(epoch_of_all(world, sampler, batch_size), second);
        });
      }
    }
  }
}

TEST(DistributedSampler, HasTheOrderOfTheTrainersSampler) {
  run_ranks(3, [](Communicator& world) {
    const trainer::RowSampler trained({.rows = 21, .seed = 9, .ranks = 3, .batch = 2});
    DistributedSampler sampler(world, 21, {.seed = 9});
    sampler.reset();
    for (trainer::EpochPosition at; at.epoch == 0; at = trained.after(at)) {
      const RowNumbers wanted = trained.rows({at, world.rank(), 0});
      const auto mine = sampler.next(6).value();
      EXPECT_EQ(RowNumbers(mine.begin(), mine.end()), wanted);
    }
    EXPECT_EQ(sampler.next(6), std::nullopt);
  });
}

TEST(DistributedSampler, WithoutShufflingRowsComeInTheirOrder) {
  run_ranks(3, [](Communicator& world) {
    DistributedSampler sampler(world, 10, {.shuffle = false});
    for (int epoch = 0; epoch < 2; ++epoch) {
      EXPECT_EQ(epoch_of_all(world, sampler, 4),
                (std::vector<RowNumbers>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
    }
  });
}

TEST(DistributedSampler, ResumedRunContinuesAtTheSameRowWithAnotherWorldAndBatch) {
  Communicator alone = Communicator::create();
  DistributedSampler reference(alone, 50, {.seed = 3});
  RowNumbers order;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const RowNumbers& batch : epoch_of_all(alone, reference, 50)) {
      order.insert(order.end(), batch.begin(), batch.end());
    }
  }
  RowNumbers used;
  DistributedSampler::Position position;
  run_ranks(3, [&](Communicator& world) {
    DistributedSampler sampler(world, 50, {.seed = 3});
    sampler.reset();
    EXPECT_EQ(sampler.position(0), (DistributedSampler::Position{0, 0}));
    for (std::size_t batch = 0; batch < 3; ++batch) {
      const auto rows = next_of_all(world, sampler, 7, batch);
      if (world.rank() == 0) {
        used.insert(used.end(), rows->begin(), rows->end());
      }
    }
    // a loader with workers asks for this batch ahead, but the run does not train on it
    (void)sampler.next(7);
    EXPECT_EQ(sampler.position(3), (DistributedSampler::Position{0, 21}));
    if (world.rank() == 0) {
      position = sampler.position(3);
    }
  });
  run_ranks(2, [&](Communicator& world) {
    DistributedSampler sampler(world, 50, {.seed = 3});
    sampler.resume(position);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto batches = epoch_of_all(world, sampler, 10);
      if (world.rank() == 0) {
        for (const RowNumbers& batch : batches) {
          used.insert(used.end(), batch.begin(), batch.end());
        }
      }
      EXPECT_EQ(sampler.position(batches.size()), (DistributedSampler::Position{epoch + 1, 0}));
    }
  });
  EXPECT_EQ(used, order);
}

TEST(DistributedSampler, IsSavedAndLoadedByAnArchive) {
  run_ranks(2, [](Communicator& world) {
    DistributedSampler sampler(world, 30, {.seed = 1});
    sampler.reset();
    (void)sampler.next(8);
    torch::serialize::OutputArchive out;
    sampler.save(out);
    std::stringstream bytes;
    out.save_to(bytes);
    torch::serialize::InputArchive in;
    in.load_from(bytes);
    DistributedSampler loaded(world, 30, {.seed = 1});
    loaded.load(in);
    loaded.reset();
    EXPECT_EQ(loaded.next(8), sampler.next(8));
  });
}

struct Numbers : torch::data::datasets::Dataset<Numbers> {
  torch::data::Example<> get(std::size_t i) override {
    const at::Tensor row = at::scalar_tensor(static_cast<double>(i));
    return {row, row};
  }
  [[nodiscard]] std::optional<std::size_t> size() const override { return 11; }
};

// The loader's copy and the test's are one sampler. Batches that workers fetch ahead keep their
// weights.
TEST(DistributedSampler, ServesALoaderWithAndWithoutWorkers) {
  for (const std::size_t workers : {0U, 2U}) {
    run_ranks(4, [&](Communicator& world) {
      DistributedSampler sampler(world, 11, {.seed = 2});
      const auto loader = torch::data::make_data_loader(
          Numbers().map(torch::data::transforms::Stack<>()), sampler,
          torch::data::DataLoaderOptions().batch_size(3).workers(workers));
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::vector<double> totals = {0, 0};  // the sum of row numbers, the number of rows
        std::size_t batches = 0;
        for (auto& batch : *loader) {
          const double weight = sampler.weight(batches++);
          totals[0] += weight > 0 ? batch.data.sum().item<double>() : 0;
          totals[1] += weight;
        }
        EXPECT_EQ(batches, 4U);
        all_reduce(world, view(totals));
        EXPECT_EQ(totals, (std::vector<double>{55, 11}));
      }
    });
  }
}

TEST(DistributedSampler, ErrorsNameTheMisuse) {
  const auto texts = test::try_ranks(3, [](Communicator& world) {
    const DistributedSampler sampler(world, world.rank() == 2 ? 99 : 100);
  });
  EXPECT_THAT(texts,
              Each("mismatch: DistributedSampler: rank 2 has \"rows 99\" where rank 0 has \"rows "
                   "100\": give every rank the same dataset, seed and position"));
  Communicator alone = Communicator::create();
  DistributedSampler sampler(alone, 10);
  const auto text = [](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  sampler.reset();
  EXPECT_THAT(text([&] { (void)sampler.next(0); }), HasSubstr("a batch of 0 rows: batch_size"));
  EXPECT_THAT(text([&] { (void)sampler.weight(0); }),
              HasSubstr("weight of batch 0, but the loader has asked for 0 since the epoch began"));
  EXPECT_THAT(text([&] { (void)sampler.position(1); }), HasSubstr("position after 1 batches, but"));
  EXPECT_THAT(text([&] { sampler.resume({.epoch = 0, .rows = 11}); }),
              HasSubstr("resume at row 11 of epoch 0, but an epoch has 10 rows: give what"));
}

}  // namespace
}  // namespace bp
