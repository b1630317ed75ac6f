// Ranks of a host that share parameters and the optimizer's state compute the same bits as ranks
// that do not. Longer than 400 lines, because all cases compare one network under both options.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/serialize/archive.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/elementwise.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"
#include "trainer/optim/optimizer.h"

namespace bp {
namespace {

using test::run_ranks;
using ::testing::HasSubstr;
using Optimizers = torch::optim::Optimizer;

const test::RanksOptions kShared{.wire = test::Wire::shm};

// Numbers that look random, the same for the same seed.
at::Tensor numbers(at::IntArrayRef shape, double seed) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return (at::arange(count, at::kDouble) * 0.37 + seed).sin().mul(0.1).to(at::kFloat).view(shape);
}

// Two layers. The first weight is longer than three pieces of a bucket, and is kept by columns; the
// norm is short. `frozen` takes part in the loss and has no gradient.
struct Net {
  at::Tensor first = numbers({700, 300}, 1).t().requires_grad_();
  at::Tensor bias = numbers({700}, 2).requires_grad_();
  at::Tensor second = numbers({700, 100}, 3).requires_grad_();
  at::Tensor unused = numbers({5}, 4).requires_grad_();
  at::Tensor frozen = numbers({100}, 5);

  [[nodiscard]] NamedTensors named() const {
    return {{"first", first},
            {"bias", bias},
            {"second", second},
            {"unused", unused},
            {"frozen", frozen}};
  }
  [[nodiscard]] std::vector<at::Tensor> trained() const { return {first, bias, second, unused}; }
  // Two, and what is in none.
  [[nodiscard]] static std::vector<std::vector<std::string>> layers() {
    return {{"first", "bias"}, {"second"}};
  }
  [[nodiscard]] at::Tensor loss(
      double seed, const std::function<void(std::size_t)>& enter = [](std::size_t) {}) const {
    enter(0);
    const at::Tensor hidden = (numbers({4, 300}, seed).matmul(first) + bias).tanh();
    hidden.register_hook([enter](const at::Tensor&) { enter(0); });
    enter(1);
    const at::Tensor output = hidden.matmul(second);
    output.register_hook([enter](const at::Tensor&) { enter(1); });
    return at::mse_loss(output + frozen, numbers({4, 100}, seed + 1));
  }
};

// Returns how many bytes of the tensor are in memory, in pages that belong to it alone.
std::size_t bytes_in_memory(const at::Tensor& tensor) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + tensor.nbytes()) / page * page;
  std::vector<unsigned char> pages((end - begin) / page);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()), 0);
  return page * static_cast<std::size_t>(
                    std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; }));
}

using Make = std::unique_ptr<Optimizers> (*)(const std::vector<at::Tensor>&);

template <class Kind, class Options>
std::unique_ptr<Optimizers> of(const std::vector<at::Tensor>& parameters, const Options& options) {
  return std::make_unique<Kind>(parameters, options);
}

namespace optim = torch::optim;
using Parameters = std::vector<at::Tensor>;

std::unique_ptr<Optimizers> sgd(const Parameters& p) {
  return of<optim::SGD>(p, optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
}
std::unique_ptr<Optimizers> adam(const Parameters& p) {
  return of<optim::Adam>(p, optim::AdamOptions(0.01).amsgrad(true));
}
std::unique_ptr<Optimizers> adamw(const Parameters& p) {
  return of<optim::AdamW>(p, optim::AdamWOptions(0.01));
}
std::unique_ptr<Optimizers> rmsprop(const Parameters& p) {
  return of<optim::RMSprop>(p, optim::RMSpropOptions(0.01).centered(true).momentum(0.5));
}
std::unique_ptr<Optimizers> adagrad(const Parameters& p) {
  return of<optim::Adagrad>(p, optim::AdagradOptions(0.01));
}

// bert_train's LAMB needs the norms of whole parameters.
std::unique_ptr<Optimizers> lamb(const Parameters& p) {
  trainer::NamedParameters named;
  for (const at::Tensor& one : p) {
    named.emplace_back(concat(named.size(), one.dim() == 1 ? ".bias" : ".weight"), one);
  }
  trainer::TrainOptions options;
  options.optimizer = "lamb";
  auto optimizer = trainer::make_optimizer(named, options);
  trainer::set_learning_rate(*optimizer, 0.01);
  optimizer->param_groups().back().options().set_lr(0.003);
  return optimizer;
}

std::string saved(const Optimizers& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream bytes;
  archive.save_to(bytes);
  return bytes.str();
}

struct Trained {
  std::string parameters;
  std::string state;  // of the optimizer, in the order of the parameters
  std::vector<double> norms;
};

std::string state_bits(Optimizers& optimizer, const Parameters& parameters) {
  const Elementwise known;
  const auto* const own = dynamic_cast<const Elementwise*>(&optimizer);
  const Elementwise& states = own == nullptr ? known : *own;
  std::vector<at::Tensor> all;
  for (const at::Tensor& parameter : parameters) {
    const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    for (const at::Tensor* tensor : states.tensors_of(*found->second)) {
      if (tensor->defined()) all.push_back(*tensor);
    }
  }
  return test::bits(all);
}

struct Training {
  Make make = adamw;
  DistributedOptimizerOptions options = {};
  double clip = 0;  // 0: no clipping
  int windows = 4;
  bool by_layer = false;
  bool has_fillers = false;  // the last rank has no rows
};

// What the ranks divide if `shard` is asked for.
Shard made_of(Shard shard, const Topology& topology) {
  if (topology.size() == 1) return Shard::none;
  if (shard != Shard::host) return shard;
  if (topology.hosts() == topology.size()) return Shard::none;
  return topology.hosts() == 1 ? Shard::optimizer : Shard::host;
}

Trained train(Communicator& world, const Training& training, Shard shard) {
  Net net;
  DistributedOptimizerOptions options = training.options;
  options.shard = shard;
  options.first_bucket_bytes = 4000;
  if (training.by_layer) options.layers = Net::layers();
  DistributedOptimizer optimizer(world, net.named(), training.make(net.trained()), options,
                                 DistributedOptimizer::Start::from_rank_0);
  Trained result;
  for (int window = 0; window < training.windows; ++window) {
    for (int batch = 0; batch < options.micro_batches; ++batch) {
      const double seed = 10 * window + 3 * batch + 100 * world.rank();
      const bool is_filler = training.has_fillers && world.rank() + 1 == world.size();
      const at::Tensor loss =
          net.loss(seed, [&](std::size_t layer) { optimizer.enter_layer(layer); });
      optimizer.backward(loss, is_filler ? 0 : 1 + world.rank());
    }
    if (training.clip > 0) result.norms.push_back(optimizer.clip_grad_norm(training.clip));
    EXPECT_TRUE(optimizer.step());
  }
  EXPECT_EQ(optimizer.shard(), made_of(shard, world.topology()));
  optimizer.gather_state();
  optimizer.gather_parameters();
  Parameters all = net.trained();
  all.push_back(net.frozen);
  result.parameters = test::bits(all);
  test::expect_equal_on_all_ranks(world, result.parameters);
  // gather_state() has made it whole there.
  if (world.topology().host() == 0) {
    result.state = state_bits(optimizer.optimizer(), net.trained());
  }
  return result;
}

void expect_same_on(const std::vector<int>& hosts, const Training& training) {
  test::RanksOptions options = kShared;
  options.local_sizes = hosts;
  run_ranks(
      std::accumulate(hosts.begin(), hosts.end(), 0),
      [&](Communicator& world) {
        const Trained plain = train(world, training, Shard::none);
        for (const Shard shard :
             {Shard::host, Shard::optimizer, Shard::gradients, Shard::parameters}) {
          if (frees_gradients(shard) && training.options.error_feedback) continue;
          if (shard == Shard::parameters && !training.by_layer) continue;
          // Between more hosts reduce_scatter adds in another order than all_reduce.
          if (shard != Shard::host && hosts.size() > 2) continue;
          const Trained shards = train(world, training, shard);
          EXPECT_TRUE(plain.parameters == shards.parameters) << name_of(shard);
          EXPECT_TRUE(plain.state == shards.state) << name_of(shard);
          EXPECT_EQ(plain.norms, shards.norms) << name_of(shard);
        }
      },
      options);
}

void expect_same(int ranks, const Training& training) { expect_same_on({ranks}, training); }

class ShardsOf : public testing::TestWithParam<Make> {};
INSTANTIATE_TEST_SUITE_P(Optimizers,
                         ShardsOf,
                         testing::Values(&sgd, &adam, &adamw, &rmsprop, &adagrad, &lamb));

// docs/acceptance.md, Optimizer: Ranks of a host that share parameters and the optimizer's state
// compute the bits of ranks that do not.
// docs/features.md, Gradients: One copy of parameters and optimizer state for the ranks of a host |
// `--shard`, `DistributedOptimizerOptions::shard`
TEST_P(ShardsOf, HaveTheBitsOfNone) {
  for (int ranks = 1; ranks <= 4; ++ranks) expect_same(ranks, {.make = GetParam()});
}

TEST_P(ShardsOf, HaveTheBitsOfNoneWithAccumulationAndClipping) {
  expect_same(3, {.make = GetParam(), .options = {.micro_batches = 3}, .clip = 0.01});
}

// docs/acceptance.md, Optimizer: Each host of a job on several hosts keeps one copy of parameters
// and state, and computes the bits of ranks that do not.
TEST(Shards, HaveTheBitsOfNoneOnSeveralHosts) {
  const std::vector<std::vector<int>> jobs = {{2, 1}, {3, 1}, {1, 2}, {2, 2}, {2, 1, 1}};
  for (const std::vector<int>& hosts : jobs) {
    expect_same_on(hosts, {.options = {.micro_batches = 2}, .clip = 0.01});
  }
  expect_same_on({2, 1},
                 {.make = adam, .options = {.wire = DataType::bf16, .error_feedback = true}});
  for (const std::vector<int>& hosts : {std::vector{2, 1}, std::vector{2, 1, 1}}) {
    expect_same_on(hosts, {.make = lamb, .clip = 0.01});
  }
}

// docs/acceptance.md, Optimizer: Hosts that bring each other the parameters of a layer when a pass
// enters it compute the bits of ranks that share nothing.
TEST(Shards, HaveTheBitsOfNoneByLayer) {
  for (const std::vector<int>& hosts : {std::vector{1, 1}, {2, 1}, {1, 3}}) {
    for (const int micro_batches : {1, 3}) {
      for (const bool has_fillers : {false, true}) {
        expect_same_on(hosts, {.options = {.micro_batches = micro_batches},
                               .clip = 0.01,
                               .by_layer = true,
                               .has_fillers = has_fillers});
      }
    }
  }
  expect_same_on({2, 1}, {.options = {.shard_shares = {0, 1, 3}}, .by_layer = true});
}

TEST_P(ShardsOf, HaveTheBitsOfNoneByLayer) {
  expect_same_on({2, 1}, {.make = GetParam(), .by_layer = true});
}

TEST(Shards, HaveTheBitsOfNoneOnANarrowWire) {
  for (const DataType wire : {DataType::f16, DataType::bf16}) {
    for (const bool feedback : {true, false}) {
      expect_same(2, {.options = {.wire = wire, .error_feedback = feedback}, .clip = 0.01});
    }
    expect_same(2, {.make = lamb, .options = {.wire = wire}});
  }
}

TEST(Shards, SkipTheSameWindowsThatOverflow) {
  // The scale overflows f16 until it has halved often enough.
  run_ranks(
      2,
      [](Communicator& world) {
        std::vector<std::string> bits;
        std::vector<std::vector<bool>> steps(3);
        for (const Shard shard : {Shard::none, Shard::optimizer, Shard::gradients}) {
          Net net;
          DistributedOptimizer optimizer(
              world, net.named(), adamw(net.trained()),
              {.wire = DataType::f16, .loss_scaling = {.initial = 0x1p40}, .shard = shard});
          for (int window = 0; window < 20; ++window) {
            // The infinity is in one rank's part alone.
            optimizer.backward(net.loss(window + world.rank()), 1);
            steps[bits.size()].push_back(optimizer.step());
          }
          bits.push_back(test::bits(net.trained()));
        }
        EXPECT_THAT(bits, testing::Each(bits[0]));
        EXPECT_THAT(steps, testing::Each(steps[0]));
        EXPECT_THAT(steps[0], testing::Contains(false));
        EXPECT_THAT(steps[0], testing::Contains(true));
      },
      kShared);
}

TEST(Shards, KeepOneCopyOfParametersAndState) {
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        auto optimizer = std::make_unique<DistributedOptimizer>(
            world, net.named(), adamw(net.trained()),
            DistributedOptimizerOptions{.shard = Shard::optimizer});
        optimizer->backward(net.loss(1), 1);
        EXPECT_TRUE(optimizer->step());
        const at::NoGradGuard no_grad;
        const std::string before = test::bits(net.trained());
        barrier(world);
        if (world.rank() == 0) net.bias[3] = 7;
        barrier(world);
        EXPECT_EQ(net.bias[3].item<float>(), 7) << "one rank writes, and all see it";
        barrier(world);
        optimizer.reset();
        barrier(world);
        if (world.rank() == 0) net.bias[3] = 8;
        barrier(world);
        EXPECT_EQ(net.bias[3].item<float>(), world.rank() == 0 ? 8 : 7)
            << "each rank has its own after the optimizer's end";
      },
      kShared);
}

// Between steps the program sees the wrapped optimizer as if it were alone.
// docs/acceptance.md, Optimizer: The state of an optimizer whose work is divided is saved whole.
TEST_P(ShardsOf, ASavedStateIsWholeAndLoadsIntoAPlainOptimizer) {
  run_ranks(
      3,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), GetParam()(net.trained()),
                                       {.shard = Shard::optimizer});
        for (int window = 0; window < 2; ++window) {
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
        }
        const std::string bytes = saved(optimizer.optimizer());
        Net copy;
        const auto plain = GetParam()(copy.trained());
        torch::serialize::InputArchive archive;
        archive.load_from(bytes.data(), bytes.size());
        plain->load(archive);
        EXPECT_EQ(state_bits(*plain, copy.trained()),
                  state_bits(optimizer.optimizer(), net.trained()));
      },
      kShared);
}

// Trains three windows with `before`, goes on with `after`, and returns the parameters.
std::string gone_on(Communicator& world, Make make, Shard before, Shard after) {
  Net net;
  std::string bytes;
  for (const Shard shard : {before, after}) {
    DistributedOptimizer optimizer(world, net.named(), make(net.trained()),
                                   {.nominal_weight = 2, .shard = shard});
    if (!bytes.empty() && world.rank() == 0) {
      torch::serialize::InputArchive archive;
      archive.load_from(bytes.data(), bytes.size());
      optimizer.optimizer().load(archive);
    }
    optimizer.broadcast_parameters();
    for (int window = 0; window < 3; ++window) {
      optimizer.backward(net.loss(window + 5 * world.rank()), 1);
      EXPECT_TRUE(optimizer.step());
    }
    optimizer.gather_state();
    bytes = saved(optimizer.optimizer());
  }
  return test::bits(net.trained());
}

// A run continues with the parameters and the state of a run with another option.
TEST_P(ShardsOf, GoOnFromAPlainRunAndTheOtherWayRound) {
  const std::vector<std::pair<Shard, Shard>> changes = {{Shard::none, Shard::optimizer},
                                                        {Shard::optimizer, Shard::none},
                                                        {Shard::host, Shard::optimizer},
                                                        {Shard::optimizer, Shard::host},
                                                        {Shard::optimizer, Shard::optimizer}};
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{2}, {2, 1}}) {
    test::RanksOptions options = kShared;
    options.local_sizes = hosts;
    run_ranks(
        std::accumulate(hosts.begin(), hosts.end(), 0),
        [&](Communicator& world) {
          const std::string plain = gone_on(world, GetParam(), Shard::none, Shard::none);
          for (const auto& [before, after] : changes) {
            EXPECT_TRUE(plain == gone_on(world, GetParam(), before, after))
                << hosts.size() << " hosts, " << name_of(before) << ", then " << name_of(after);
          }
        },
        options);
  }
}

// docs/acceptance.md, Optimizer: A state that all ranks load is not lost when buckets change their
// order.
TEST(Shards, AStateThatAllRanksLoadIsKept) {
  test::RanksOptions options = kShared;
  options.local_sizes = {2, 1};
  run_ranks(
      3,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adam(net.trained()),
                                       {.nominal_weight = 3, .shard = Shard::optimizer});
        const auto make_step = [&](int window) {
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
        };
        make_step(0);
        optimizer.gather_state();
        const bool is_root = world.topology().host() == 0;
        const std::string wanted = is_root ? state_bits(optimizer.optimizer(), net.trained()) : "";
        std::string bytes = world.rank() == 0 ? saved(optimizer.optimizer()) : "";
        broadcast_object(world, bytes);
        for (const bool moves : {false, true}) {
          make_step(1);
          torch::serialize::InputArchive archive;
          archive.load_from(bytes.data(), bytes.size());
          optimizer.optimizer().load(archive);
          if (moves) {
            DistributedOptimizer::State state = optimizer.state();
            std::ranges::reverse(state.bucket_order);
            optimizer.load_state(state);
          }
          optimizer.gather_state();
          if (!is_root) continue;
          EXPECT_TRUE(wanted == state_bits(optimizer.optimizer(), net.trained())) << moves;
        }
      },
      options);
}

// docs/features.md, Gradients: Shares of the state by the memory of ranks | `--shard-shares`,
// `DistributedOptimizerOptions::shard_shares`
// docs/acceptance.md, Optimizer: Ranks own as much of the state as their shares say, perhaps
// nothing, and compute the same bits.
TEST(Shards, MayBeUnequal) {
  for (const std::vector<double>& shares :
       std::vector<std::vector<double>>{{0.7, 0.2, 0.1}, {0, 3, 1}}) {
    for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{3}, {2, 1}}) {
      expect_same_on(hosts, {.options = {.shard_shares = shares}, .clip = 0.01});
    }
  }
}

// Between three hosts.
TEST(Shards, AreCloseToNoneWhereSumsAreMadeInAnotherOrder) {
  test::RanksOptions options = kShared;
  options.local_sizes = {2, 1, 1};
  run_ranks(
      4,
      [](Communicator& world) {
        std::vector<std::vector<at::Tensor>> trained;
        for (const Shard shard : {Shard::none, Shard::optimizer, Shard::gradients}) {
          Net net;
          DistributedOptimizer optimizer(world, net.named(),
                                         of<optim::SGD>(net.trained(), optim::SGDOptions(0.1)),
                                         {.shard = shard});
          for (int window = 0; window < 20; ++window) {
            optimizer.backward(net.loss(window + 30 * world.rank()), 1);
            EXPECT_TRUE(optimizer.step());
          }
          test::expect_equal_on_all_ranks(world, test::bits(net.trained()));
          trained.emplace_back();
          for (const at::Tensor& one : net.trained())
            trained.back().push_back(one.detach().clone());
        }
        for (std::size_t i = 0; i < trained[0].size(); ++i) {
          const double norm = trained[0][i].norm().item<double>();
          for (const auto& other : {trained[1][i], trained[2][i]}) {
            EXPECT_LE((other - trained[0][i]).norm().item<double>(), 2e-7 * norm);
          }
        }
      },
      options);
}

// docs/acceptance.md, Optimizer: Ranks of several hosts that divide the state keep the part of
// their host in memory.
TEST(Shards, AHostHasNoMemoryForTheStateOfOthers) {
  test::RanksOptions options = kShared;
  options.local_sizes = {1, 1};
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::optimizer});
        const auto moment = [&] {
          const auto found = optimizer.optimizer().state().find(net.first.unsafeGetTensorImpl());
          return static_cast<optim::AdamWParamState&>(*found->second).exp_avg();
        };
        for (int window = 0; window < 3; ++window) {
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
          const std::int64_t part = moment().numel();
          EXPECT_GT(part, net.first.numel() / 4);
          EXPECT_LT(part, net.first.numel() * 3 / 4);
          const int root = window % 2;
          optimizer.gather_state(root);
          const at::Tensor gathered = moment();
          const bool is_root = world.rank() == root;
          EXPECT_EQ(gathered.numel(), is_root ? net.first.numel() : part);
          const std::size_t before = bytes_in_memory(gathered);
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
          if (!is_root) continue;
          EXPECT_GT(before, gathered.nbytes() * 9 / 10);
          EXPECT_LT(bytes_in_memory(gathered), gathered.nbytes() * 3 / 4);
        }
        optimizer.broadcast_parameters();
        const at::Tensor part = moment();
        EXPECT_LT(part.numel(), net.first.numel() * 3 / 4);
        const at::Tensor all = part.as_strided({net.first.numel()}, {1}, 0);
        EXPECT_LT(bytes_in_memory(all), all.nbytes() * 3 / 4);
      },
      options);
}

std::unique_ptr<Optimizers> plain_sgd(const Parameters& p) {
  return of<optim::SGD>(p, optim::SGDOptions(0.1));
}

std::string train_words(Communicator& world, Make make, Shard shard) {
  Net net;
  at::Tensor words = at::zeros({50, 300}).requires_grad_();
  NamedTensors named = net.named();
  named.emplace_back("words", words);
  Parameters trained = net.trained();
  trained.push_back(words);
  DistributedOptimizer optimizer(world, named, make(trained),
                                 {.sparse_gradients = {"words"}, .shard = shard});
  for (int window = 0; window < 3; ++window) {
    const at::Tensor used =
        at::embedding(words, at::tensor({window, 7 + world.rank()}, at::kLong), -1, false, true);
    optimizer.backward(net.loss(window) + (used * used + used).sum(), 1);
    (void)optimizer.clip_grad_norm(0.5);
    EXPECT_TRUE(optimizer.step());
  }
  test::expect_equal_on_all_ranks(world, test::bits(trained));
  return test::bits(trained);
}

// docs/features.md, Gradients: Parameters that hosts divide | `--shard parameters`,
// `DistributedOptimizer::enter_layer`
// docs/acceptance.md, Optimizer: With `parameters` a host has the parts of other hosts of the layer
// that a pass is in, and of no other one.
TEST(Shards, AHostHasNoMemoryForTheLayersOfOthers) {
  test::RanksOptions options = kShared;
  options.local_sizes = {1, 1};
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::parameters, .layers = Net::layers()});
        const auto is_whole = [](const at::Tensor& tensor) {
          return bytes_in_memory(tensor) > tensor.nbytes() * 97 / 100;
        };
        const auto enter = [&](std::size_t layer) { optimizer.enter_layer(layer); };
        for (int window = 0; window < 3; ++window) {
          const at::Tensor loss = net.loss(window, enter);
          if (window > 0) {
            EXPECT_FALSE(is_whole(net.first));
            EXPECT_TRUE(is_whole(net.second));
          }
          optimizer.backward(loss, 1);
          EXPECT_TRUE(optimizer.step());
          EXPECT_FALSE(is_whole(net.second));
          EXPECT_FALSE(is_whole(net.first) && window > 0);  // it is on its way
        }
        optimizer.gather_parameters();
        EXPECT_TRUE(is_whole(net.first));
        EXPECT_TRUE(is_whole(net.second));
        optimizer.backward(net.loss(3, enter), 1);
        EXPECT_TRUE(optimizer.step());
        EXPECT_FALSE(is_whole(net.second));
      },
      options);
}

// Twenty layers, each with a bucket of its own, and a head of which only rank 0 has a gradient.
// `pass` is called before a forward or backward pass goes through a layer.
void train_with_a_missing_gradient(
    Shard shard, bool by_layer, const std::function<at::Tensor(Communicator&, at::Tensor)>& pass) {
  test::RanksOptions options = kShared;
  options.local_sizes = {1, 1};
  run_ranks(
      2,
      [&](Communicator& world) {
        constexpr std::size_t kLayers = 20;
        Communicator own = world.split(0);  // for what the program itself does
        std::vector<std::vector<std::string>> layers;
        NamedTensors named;
        Parameters all;
        for (std::size_t i = 0; i < kLayers; ++i) {
          all.push_back(numbers({30, 30}, static_cast<double>(i)).requires_grad_());
          named.emplace_back(concat("layer.", i), all.back());
          if (by_layer) layers.push_back({named.back().first});
        }
        all.push_back(numbers({30}, 99).requires_grad_());
        named.emplace_back("head", all.back());
        DistributedOptimizer optimizer(
            world, named, adamw(all),
            {.first_bucket_bytes = 64, .bucket_bytes = 64, .shard = shard, .layers = layers});
        for (int window = 0; window < 3; ++window) {
          at::Tensor x = numbers({2, 30}, window);
          for (std::size_t i = 0; i < kLayers; ++i) {
            optimizer.enter_layer(i);
            x = pass(own, x.matmul(all[i]).add(1));
            x.register_hook([&optimizer, i](const at::Tensor&) { optimizer.enter_layer(i); });
          }
          if (world.rank() == 0) x = x * all.back();
          optimizer.backward(x.square().mean(), 1);
          EXPECT_TRUE(optimizer.step());
        }
      },
      options);
}

// Ranks that wait for sums in the middle of a backward pass would wait for one that waits for them
// to enter a layer.
TEST(Shards, ARankWithoutAGradientKeepsNobodyFromEnteringLayers) {
  train_with_a_missing_gradient(Shard::parameters, true,
                                [](Communicator& /*own*/, const at::Tensor& x) { return x; });
}

// The same in a collective of the program's own backward pass. It takes five seconds, once.
TEST(Shards, ARankWithoutAGradientKeepsNobodyFromItsOwnCollectives) {
  train_with_a_missing_gradient(
      Shard::gradients, false,
      [](Communicator& own, const at::Tensor& x) { return all_reduced(own, x); });
}

TEST(Shards, LayersThatCannotBeAreRefusedByName) {
  run_ranks(
      2,
      [](Communicator& world) {
        const auto refusal = [&](const std::vector<std::vector<std::string>>& layers) {
          const Net net;
          try {
            const DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                                 {.shard = Shard::parameters, .layers = layers});
          } catch (const Error& error) {
            return std::string(error.what());
          }
          return std::string();
        };
        EXPECT_THAT(refusal({}), HasSubstr("shard = parameters without layers"));
        EXPECT_THAT(refusal({{"first"}, {"third"}}), HasSubstr("layers names third"));
        EXPECT_THAT(refusal({{"first"}, {"first"}}), HasSubstr("in a layer already"));
        EXPECT_EQ(refusal({{"first", "frozen"}}), "");
      },
      kShared);
}

TEST(Shards, LeaveSparseGradientsWhole) {
  for (const Make make : {&plain_sgd, &lamb}) {
    run_ranks(
        3,
        [make](Communicator& world) {
          const std::string plain = train_words(world, make, Shard::none);
          EXPECT_TRUE(train_words(world, make, Shard::optimizer) == plain);
          EXPECT_TRUE(train_words(world, make, Shard::gradients) == plain);
        },
        kShared);
  }
}

std::string train_frozen(Communicator& world, Make make, Shard shard) {
  Net net;
  DistributedOptimizer optimizer(world, net.named(), make({net.first, net.bias}), {.shard = shard});
  for (int window = 0; window < 6; ++window) {
    net.bias.requires_grad_(window != 2 && window != 3);
    if (window == 4) {
      optimizer.optimizer().add_param_group(optim::OptimizerParamGroup({net.second}));
      optimizer.optimizer().param_groups().back().options().set_lr(0.02);
    }
    optimizer.backward(net.loss(window), 1);
    EXPECT_TRUE(optimizer.step());
  }
  return test::bits(net.trained());
}

TEST(Shards, FreezingAndANewGroupChangeNoBits) {
  for (const Make make : {&adamw, &lamb}) {
    run_ranks(
        2,
        [make](Communicator& world) {
          const std::string plain = train_frozen(world, make, Shard::none);
          EXPECT_TRUE(train_frozen(world, make, Shard::optimizer) == plain);
          EXPECT_TRUE(train_frozen(world, make, Shard::gradients) == plain);
        },
        kShared);
  }
}

// docs/acceptance.md, Optimizer: With gradients divided, a rank keeps its own part of each until
// the end of the window, and nothing between windows.
// docs/features.md, Gradients: Gradients that ranks divide | `--shard gradients`
TEST(Shards, FreeTheGradientsOfOthers) {
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::gradients});
        for (int window = 0; window < 3; ++window) {
          optimizer.backward(net.loss(window), 1);
          optimizer.reduce();
          const at::Tensor gradient = net.first.grad();
          EXPECT_GT(bytes_in_memory(gradient), gradient.nbytes() / 4);
          EXPECT_LT(bytes_in_memory(gradient), gradient.nbytes() * 3 / 4);
          EXPECT_TRUE(optimizer.step());
          EXPECT_EQ(bytes_in_memory(gradient), 0);
        }
      },
      kShared);
}

// An optimizer of the program's, with state of its own kind.
struct OwnState : optim::OptimizerCloneableParamState<OwnState> {
  at::Tensor sum;
};
class OwnOptimizer : public optim::Optimizer, public Elementwise {
 public:
  explicit OwnOptimizer(const Parameters& parameters)
      : Optimizer({optim::OptimizerParamGroup(parameters)},
                  std::make_unique<optim::SGDOptions>(0.1)) {}
  at::Tensor step(LossClosure /*closure*/) override {
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : param_groups()[0].params()) {
      if (!parameter.grad().defined()) continue;
      auto& state = state_[parameter.unsafeGetTensorImpl()];
      if (!state) state = std::make_unique<OwnState>();
      auto& own = static_cast<OwnState&>(*state);
      // A new tensor in each step.
      own.sum = own.sum.defined() ? own.sum + parameter.grad() : parameter.grad().clone();
      parameter.sub_(own.sum, 0.1);
    }
    return {};
  }
  [[nodiscard]] std::vector<at::Tensor*> tensors_of(
      optim::OptimizerParamState& state) const override {
    return {&static_cast<OwnState&>(state).sum};
  }
};

TEST(Shards, AnOptimizerOfOnesOwnSaysThatItIsElementwise) {
  run_ranks(
      3,
      [](Communicator& world) {
        std::vector<std::string> bits;
        for (const Shard shard : {Shard::none, Shard::automatic}) {
          Net net;
          DistributedOptimizer optimizer(
              world, net.named(), std::make_unique<OwnOptimizer>(net.trained()), {.shard = shard});
          EXPECT_EQ(optimizer.shard(), shard == Shard::none ? Shard::none : Shard::optimizer);
          for (int window = 0; window < 3; ++window) {
            optimizer.backward(net.loss(window + world.rank()), 1);
            EXPECT_TRUE(optimizer.step());
          }
          bits.push_back(test::bits(net.trained()));
        }
        EXPECT_EQ(bits[0], bits[1]);
      },
      kShared);
}

std::string refusal_of(Communicator& world, std::unique_ptr<Optimizers> optimizer, const Net& net) {
  try {
    const DistributedOptimizer made(world, net.named(), std::move(optimizer),
                                    {.shard = Shard::optimizer});
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

// docs/acceptance.md, Optimizer: An optimizer that cannot be divided is refused by name.
TEST(Shards, WhatCannotBeDividedIsRefusedByName) {
  run_ranks(
      2,
      [](Communicator& world) {
        const Net net;
        EXPECT_THAT(refusal_of(world, of<optim::LBFGS>(net.trained(), optim::LBFGSOptions(1)), net),
                    HasSubstr("LBFGS"));
        DistributedOptimizer whole(world, net.named(),
                                   of<optim::LBFGS>(net.trained(), optim::LBFGSOptions(1)),
                                   {.shard = Shard::automatic});
        EXPECT_EQ(whole.shard(), Shard::none);
      },
      kShared);
  run_ranks(2,
            [](Communicator& world) {
              const Net net;
              EXPECT_THAT(refusal_of(world, adamw(net.trained()), net),
                          HasSubstr("share no memory with the backend"));
            },
            {.wire = test::Wire::gloo});
}

TEST(Shards, AReplacedGradientIsRefused) {
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::optimizer});
        optimizer.backward(net.loss(1), 1);
        optimizer.reduce();
        net.bias.mutable_grad() = at::zeros({700});
        try {
          (void)optimizer.clip_grad_norm(1);
          ADD_FAILURE() << "no rank has all of the gradient";
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("was replaced after reduce()"));
        }
      },
      kShared);
}

}  // namespace
}  // namespace bp
