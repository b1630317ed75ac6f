// Trains one network with each Shard, to compare the bits. It lies on tensor_device().
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/mse_loss.h>
#include <gtest/gtest.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/elementwise.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"
#include "trainer/optim/optimizer.h"

namespace bp::test {

namespace optim = torch::optim;
using Optimizers = optim::Optimizer;

inline const RanksOptions kShared{.wire = Wire::shm,
                                  .segments = {.max_bytes = 1 << 16, .min_bytes = 1 << 10},
                                  .shared_chunk = 1 << 16};

inline RanksOptions shared_on(const std::vector<int>& hosts) {
  RanksOptions options = kShared;
  options.local_sizes = hosts;
  return options;
}

// Numbers that look random, the same for the same seed.
inline at::Tensor numbers(at::IntArrayRef shape, double seed) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  const at::Tensor all = (at::arange(count, at::kDouble) * 0.37 + seed).sin().mul(0.1);
  return all.to(at::kFloat).view(shape).to(tensor_device());
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

using Make = std::unique_ptr<Optimizers> (*)(const Parameters&);

template <class Kind, class Options>
std::unique_ptr<Optimizers> of(const Parameters& parameters, const Options& options) {
  return std::make_unique<Kind>(parameters, options);
}

inline std::unique_ptr<Optimizers> sgd(const Parameters& p) {
  return of<optim::SGD>(p, optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
}
inline std::unique_ptr<Optimizers> plain_sgd(const Parameters& p) {
  return of<optim::SGD>(p, optim::SGDOptions(0.1));
}
inline std::unique_ptr<Optimizers> adam(const Parameters& p) {
  return of<optim::Adam>(p, optim::AdamOptions(0.01).amsgrad(true));
}
inline std::unique_ptr<Optimizers> adamw(const Parameters& p) {
  return of<optim::AdamW>(p, optim::AdamWOptions(0.01));
}
inline std::unique_ptr<Optimizers> rmsprop(const Parameters& p) {
  return of<optim::RMSprop>(p, optim::RMSpropOptions(0.01).centered(true).momentum(0.5));
}
inline std::unique_ptr<Optimizers> adagrad(const Parameters& p) {
  return of<optim::Adagrad>(p, optim::AdagradOptions(0.01));
}

// One of bert_train's.
inline std::unique_ptr<Optimizers> bert_trains(const char* name, const Parameters& p) {
  trainer::NamedParameters named;
  for (const at::Tensor& one : p) {
    named.emplace_back(concat(named.size(), one.dim() == 1 ? ".bias" : ".weight"), one);
  }
  trainer::TrainOptions options;
  options.optimizer = name;
  auto optimizer = trainer::make_optimizer(named, options);
  trainer::set_learning_rate(*optimizer, 0.01);
  optimizer->param_groups().back().options().set_lr(0.003);
  return optimizer;
}
// It needs the norms of whole parameters.
inline std::unique_ptr<Optimizers> lamb(const Parameters& p) { return bert_trains("lamb", p); }
inline std::unique_ptr<Optimizers> lion(const Parameters& p) { return bert_trains("lion", p); }
inline std::unique_ptr<Optimizers> adadelta(const Parameters& p) {
  return bert_trains("adadelta", p);
}
inline std::unique_ptr<Optimizers> fused_sgd(const Parameters& p) { return bert_trains("sgd", p); }
inline std::unique_ptr<Optimizers> fused_adam(const Parameters& p) {
  return bert_trains("adam", p);
}
inline std::unique_ptr<Optimizers> fused_adamw(const Parameters& p) {
  return bert_trains("adamw", p);
}

inline std::string saved(const Optimizers& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream bytes;
  archive.save_to(bytes);
  return bytes.str();
}

inline void load(Optimizers& optimizer, const std::string& bytes) {
  torch::serialize::InputArchive archive;
  archive.load_from(bytes.data(), bytes.size(), tensor_device());
  optimizer.load(archive);
}

struct Trained {
  std::string parameters;
  std::string state;  // of the optimizer, in the order of the parameters
  std::vector<double> losses;
  std::vector<double> norms;
};

inline std::string state_bits(Optimizers& optimizer, const Parameters& parameters) {
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
  return bits(all);
}

struct Training {
  Make make = adamw;
  DistributedOptimizerOptions options = {};
  double clip = 0;  // 0: no clipping
  int windows = 4;
  bool by_layer = false;
  bool has_fillers = false;  // the last rank has no rows
  bool is_uneven = false;    // rank r makes at most r micro-batches
};

// Where a rank shares memory with others. It does not on a device.
inline std::vector<Shard> divided_stages() {
  if (!tensor_device().is_cpu()) return {Shard::optimizer};
  return {Shard::host, Shard::optimizer, Shard::gradients};
}

inline bool is_possible(Shard shard) {
  return shard == Shard::none || std::ranges::count(divided_stages(), shard) > 0;
}

// What the ranks divide if `shard` is asked for.
inline Shard made_of(Shard shard, const Topology& topology) {
  if (topology.size() == 1) return Shard::none;
  if (shard != Shard::host) return shard;
  if (topology.hosts() == topology.size()) return Shard::none;
  return topology.hosts() == 1 ? Shard::optimizer : Shard::host;
}

// Whether gather_state() makes the state whole on this rank.
inline bool is_gathered(const Communicator& world) { return world.rank() == 0; }

inline Trained train(Communicator& world, const Training& training, Shard shard) {
  Net net;
  DistributedOptimizerOptions options = training.options;
  options.shard = shard;
  options.first_bucket_bytes = 4000;
  if (training.by_layer) options.layers = Net::layers();
  DistributedOptimizer optimizer(world, net.named(), training.make(net.trained()), options,
                                 DistributedOptimizer::Start::from_rank_0);
  Trained result;
  for (int window = 0; window < training.windows; ++window) {
    const int batches =
        training.is_uneven ? std::min(world.rank(), options.micro_batches) : options.micro_batches;
    for (int batch = 0; batch < batches; ++batch) {
      const double seed = 10 * window + 3 * batch + 100 * world.rank();
      const bool is_filler = training.has_fillers && world.rank() + 1 == world.size();
      const at::Tensor loss =
          net.loss(seed, [&](std::size_t layer) { optimizer.enter_layer(layer); });
      optimizer.backward(loss, is_filler ? 0 : 1 + world.rank());
    }
    if (training.clip > 0) result.norms.push_back(optimizer.clip_grad_norm(training.clip));
    EXPECT_TRUE(optimizer.step());
    result.losses.push_back(optimizer.window().loss);
  }
  EXPECT_EQ(optimizer.shard(), made_of(shard, world.topology()));
  optimizer.gather_state();
  optimizer.gather_parameters();
  Parameters all = net.trained();
  all.push_back(net.frozen);
  result.parameters = bits(all);
  expect_equal_on_all_ranks(world, result.parameters);
  if (is_gathered(world)) result.state = state_bits(optimizer.optimizer(), net.trained());
  return result;
}

inline void expect_same_on(const std::vector<int>& hosts, const Training& training) {
  run_ranks(
      std::accumulate(hosts.begin(), hosts.end(), 0),
      [&](Communicator& world) {
        const Trained plain = train(world, training, Shard::none);
        std::vector<Shard> stages = divided_stages();
        if (training.by_layer && stages.size() > 1) stages.push_back(Shard::parameters);
        for (const Shard shard : stages) {
          if (frees_gradients(shard) && training.options.error_feedback) continue;
          // Between more hosts reduce_scatter adds in another order than all_reduce.
          if (shard != Shard::host && hosts.size() > 2) continue;
          const Trained shards = train(world, training, shard);
          EXPECT_TRUE(plain.parameters == shards.parameters) << name_of(shard);
          EXPECT_TRUE(plain.state == shards.state) << name_of(shard);
          EXPECT_EQ(plain.losses, shards.losses) << name_of(shard);
          EXPECT_EQ(plain.norms, shards.norms) << name_of(shard);
        }
      },
      shared_on(hosts));
}

inline void expect_same(int ranks, const Training& training) { expect_same_on({ranks}, training); }

}  // namespace bp::test
