// Rank 0 gets the state that ranks divide in pieces, and never has all of it in memory.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <c10/util/accumulate.h>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/elementwise.h"
#include "tests/support/run_ranks.h"

namespace bp {
namespace {

using ::testing::ContainsRegex;
using MakeOptimizer = std::unique_ptr<torch::optim::Optimizer> (*)(std::vector<at::Tensor>);

std::unique_ptr<torch::optim::Optimizer> streamed_adamw(std::vector<at::Tensor> parameters) {
  return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                               torch::optim::AdamWOptions(0.01));
}
std::unique_ptr<torch::optim::Optimizer> streamed_sgd(std::vector<at::Tensor> parameters) {
  return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                             torch::optim::SGDOptions(0.1).momentum(0.9));
}

at::Tensor waves(at::IntArrayRef shape) {
  return at::arange(c10::multiply_integers(shape)).sin().view(shape);
}

using Layers = std::vector<std::vector<std::string>>;
const Layers kTwoLayers = {{"by columns"}, {"short"}};

// The first parameter is kept by columns. All have a gradient but one.
struct Learned {
  explicit Learned(std::int64_t rows)
      : named({{"by columns", waves({300, rows}).t().requires_grad_()},
               {"short", waves({7}).requires_grad_()},
               {"unused", waves({5}).requires_grad_()}}) {}
  [[nodiscard]] std::vector<at::Tensor> parameters() const {
    return {named[0].second, named[1].second, named[2].second};
  }
  [[nodiscard]] at::Tensor loss(DistributedOptimizer& optimizer, double factor) const {
    at::Tensor sum = at::zeros({});
    for (const std::size_t layer : {0U, 1U}) {
      optimizer.enter_layer(layer);
      const at::Tensor own = named[layer].second.square().sum();
      own.register_hook([&, layer](const at::Tensor&) { optimizer.enter_layer(layer); });
      sum = sum + own * factor;
    }
    return sum;
  }

  NamedTensors named;
};

test::RanksOptions sharing(const std::vector<int>& hosts) {
  test::RanksOptions options{.wire = test::Wire::shm};
  options.local_sizes = hosts;
  options.shared_chunk = std::size_t{256} << 10;
  options.segments = {.max_bytes = std::size_t{1} << 20, .min_bytes = std::size_t{64} << 10};
  return options;
}

void run_on(const std::vector<int>& hosts, const std::function<void(Communicator&)>& body) {
  test::run_ranks(std::accumulate(hosts.begin(), hosts.end(), 0), body, sharing(hosts));
}

// Makes the same steps on all ranks.
void make_steps(DistributedOptimizer& optimizer, const Learned& model, int first, int count) {
  for (int step = first; step < first + count; ++step) {
    optimizer.backward(model.loss(optimizer, 1 + step), 1);
    EXPECT_TRUE(optimizer.step());
  }
}

// Returns a parameter, and the tensors of its state.
std::map<std::string, at::Tensor> tensors_of(DistributedOptimizer& optimizer,
                                             const std::string& name,
                                             const at::Tensor& parameter) {
  std::map<std::string, at::Tensor> all = {{name, parameter}};
  const auto found = optimizer.optimizer().state().find(parameter.unsafeGetTensorImpl());
  if (found == optimizer.optimizer().state().end()) return all;
  for (const at::Tensor* tensor : Elementwise().tensors_of(*found->second)) {
    if (tensor->defined()) all[concat(name, " ", all.size())] = *tensor;
  }
  return all;
}

// Returns which tensor a piece is of.
std::string key_of(const DistributedOptimizer::Piece& piece) {
  return piece.moment ? concat(piece.name, " ", *piece.moment + 1) : piece.name;
}

using TensorBytes = std::map<std::string, std::string>;

std::string bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// Puts the pieces together. None overlaps another one.
TensorBytes streamed(DistributedOptimizer& optimizer) {
  TensorBytes all;
  std::map<std::string, std::size_t> counts;
  optimizer.stream_state([&](const DistributedOptimizer::Piece& piece) {
    const std::string key = key_of(piece);
    const std::size_t begin = piece.offset * piece.values.element_size();
    const std::size_t bytes = piece.values.nbytes();
    all[key].resize(std::max(all[key].size(), begin + bytes));
    all[key].replace(begin, bytes, bytes_of(piece.values));
    counts[key] += bytes;
  });
  for (const auto& [key, bytes] : all) EXPECT_EQ(bytes.size(), counts[key]) << key;
  return all;
}

// Adds what is whole on this rank.
TensorBytes with_whole_ones(TensorBytes all,
                            DistributedOptimizer& optimizer,
                            const Learned& model) {
  for (const auto& [name, parameter] : model.named) {
    for (const auto& [key, tensor] : tensors_of(optimizer, name, parameter)) {
      if (tensor.sizes() == parameter.sizes()) all.emplace(key, bytes_of(tensor));
    }
  }
  return all;
}

// docs/acceptance.md, Optimizer: Rank 0 gets divided parameters and their state in pieces that
// together are the whole ones, and training continues with the same bits.
// docs/features.md, Loop and checkpoints: A state that hosts divide saved without room for all of
// it | `DistributedOptimizer::stream_state()`
TEST(StreamedState, IsTheWholeState) {
  constexpr std::int64_t kRows = 3600;  // a state of more than one piece
  for (const MakeOptimizer make : {&streamed_adamw, &streamed_sgd}) {
    for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{1}, {2}, {2, 1}, {1, 2}}) {
      run_on(hosts, [&](Communicator& world) {
        const Learned plain(kRows);
        DistributedOptimizer alone(world, plain.named, make(plain.parameters()),
                                   {.nominal_weight = 1});
        make_steps(alone, plain, 0, 2);
        const TensorBytes whole = with_whole_ones({}, alone, plain);
        make_steps(alone, plain, 2, 1);
        const std::vector<std::pair<Shard, Layers>> ways = {
            {Shard::none, {}},      {Shard::host, {}},
            {Shard::optimizer, {}}, {Shard::optimizer, kTwoLayers},
            {Shard::gradients, {}}, {Shard::parameters, kTwoLayers}};
        for (const auto& [shard, layers] : ways) {
          SCOPED_TRACE(concat(name_of(shard), " ", layers.size()));
          const Learned model(kRows);
          DistributedOptimizer optimizer(world, model.named, make(model.parameters()),
                                         {.nominal_weight = 1, .shard = shard, .layers = layers});
          (void)streamed(optimizer);
          make_steps(optimizer, model, 0, 2);
          for (const int gathered : {-1, world.size() - 1, 0}) {
            if (gathered >= 0) optimizer.gather_state(gathered);
            const TensorBytes pieces = streamed(optimizer);
            const bool has_some = divides_among_hosts(shard) && hosts.size() > 1;
            EXPECT_NE(pieces.empty(), has_some && world.rank() == 0);
            if (world.rank() > 0) continue;
            EXPECT_TRUE(with_whole_ones(pieces, optimizer, model) == whole) << gathered;
          }
          make_steps(optimizer, model, 2, 1);
          optimizer.gather_parameters();
          for (std::size_t i = 0; i < plain.named.size(); ++i) {
            EXPECT_TRUE(model.named[i].second.equal(plain.named[i].second)) << i;
          }
        }
      });
    }
  }
}

// How much of `bytes` bytes is in memory.
double share_in_memory(const void* begin, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(first), bytes, pages.data()), 0);
  const auto is_there = [](unsigned char one) { return (one & 1) != 0; };
  return static_cast<double>(std::ranges::count_if(pages, is_there)) /
         static_cast<double>(pages.size());
}

// docs/acceptance.md, Optimizer: While rank 0 saves divided parameters and their state, its host
// has one layer of the parameters more in memory, and a rank some MiB of the state.
TEST(StreamedState, IsNeverWholeInMemory) {
  for (const Shard shard : {Shard::optimizer, Shard::parameters}) {
    run_on({1, 1}, [&](Communicator& world) {
      const bool frees_layers = shard == Shard::parameters;
      const Learned model(28'000);  // eight pieces and more
      DistributedOptimizer optimizer(
          world, model.named, streamed_sgd(model.parameters()),
          {.nominal_weight = 1, .shard = shard, .layers = frees_layers ? kTwoLayers : Layers()});
      make_steps(optimizer, model, 0, 1);
      const at::Tensor& parameter = model.named[0].second;
      const void* const begin = parameter.storage().data();
      const std::size_t bytes = parameter.nbytes();
      const auto moment = [&] {
        return tensors_of(optimizer, "by columns", parameter).at("by columns 1");
      };
      std::map<std::string, int> pieces;
      optimizer.stream_state([&](const DistributedOptimizer::Piece& piece) {
        if (piece.name != "by columns") return;
        EXPECT_LT(moment().storage().nbytes(), bytes * 55 / 100);
        EXPECT_GT(share_in_memory(begin, bytes), piece.moment && frees_layers ? 0.45 : 0.99);
        EXPECT_LT(share_in_memory(begin, bytes), piece.moment && frees_layers ? 0.55 : 1.01);
        ++pieces[key_of(piece)];
      });
      EXPECT_EQ(pieces["by columns 1"] > 8, world.rank() == 0);
      EXPECT_EQ(pieces["by columns"], world.rank() == 0 && frees_layers ? 1 : 0);
      EXPECT_EQ(share_in_memory(begin, bytes) < 0.55, frees_layers);
      optimizer.gather_state(0);
      EXPECT_EQ(moment().nbytes() == bytes, world.rank() == 0);
    });
  }
}

// docs/acceptance.md, Optimizer: A disk that takes longer for a divided state than a collective may
// take ends no job.
TEST(StreamedState, MayTakeLongerThanACollective) {
  test::RanksOptions options = sharing({2, 1});
  options.communicator.timeout = std::chrono::seconds(3);
  test::run_ranks(
      3,
      [](Communicator& world) {
        NamedTensors named;
        std::vector<at::Tensor> parameters;
        for (int i = 0; i < 36; ++i) {
          parameters.push_back(at::ones({3}).requires_grad_());
          named.emplace_back(concat("p", i), parameters.back());
        }
        DistributedOptimizer optimizer(world, named, streamed_sgd(parameters),
                                       {.nominal_weight = 1, .shard = Shard::optimizer});
        at::Tensor sum = at::zeros({});
        for (const at::Tensor& parameter : parameters) sum = sum + parameter.sum();
        optimizer.backward(sum, 1);
        EXPECT_TRUE(optimizer.step());
        int pieces = 0;
        optimizer.stream_state([&](const DistributedOptimizer::Piece& /*piece*/) {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          ++pieces;
        });
        EXPECT_EQ(pieces, world.rank() == 0 ? 36 : 0);
        barrier(world, {.timeout = std::chrono::minutes(1)});
      },
      options);
}

// docs/acceptance.md, Optimizer: If rank 0 cannot save a divided state, all ranks end, and rank 0
// with the reason.
TEST(StreamedState, WhatTheVisitorThrowsEndsAllRanks) {
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{1, 1}, {2, 1}}) {
    const int ranks = std::accumulate(hosts.begin(), hosts.end(), 0);
    const std::vector<std::string> errors = test::try_ranks(
        ranks,
        [](Communicator& world) {
          const Learned model(28'000);
          DistributedOptimizer optimizer(world, model.named, streamed_sgd(model.parameters()),
                                         {.nominal_weight = 1, .shard = Shard::optimizer});
          make_steps(optimizer, model, 0, 1);
          optimizer.stream_state([](const DistributedOptimizer::Piece& piece) {
            if (piece.offset > 0) throw Error(ErrorCode::io, "cannot write it");
          });
          make_steps(optimizer, model, 1, 1);
        },
        sharing(hosts));
    EXPECT_EQ(errors[0], "io: cannot write it");
    for (int rank = 1; rank < ranks; ++rank) {
      // Or "aborted", if the rank begins another operation after the news.
      EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                  ContainsRegex("^(peer_lost|aborted): .*rank 0 (was )?lost"))
          << rank;
    }
  }
}

}  // namespace
}  // namespace bp
