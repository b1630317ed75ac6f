// What ranks that divide the training state keep in memory and send to other hosts: counted, and
// beside what bert_train's estimate says of such a state.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/counted_ranks.h"
#include "tests/support/tensor_memory.h"
#include "trainer/report/shard_costs.h"

namespace bp {
namespace {

using test::bytes_in_memory;
using test::run_counted_ranks;

// Each matrix is a layer and has a bucket. It has 8 pieces, so that shares are exact.
constexpr std::size_t kMatrices = 6;
constexpr std::int64_t kHeight = 1024;
constexpr std::int64_t kWidth = 512;
constexpr double kNumbers = kMatrices * static_cast<double>(kHeight * kWidth);
constexpr std::size_t kBucket = 4 * kHeight * kWidth;

// Bytes of one host.
struct Counted {
  double kept = 0;     // from step to step: parameters and moments
  double in_step = 0;  // before a step: gradients
  double in_use = 0;   // at most, while passes use them: parameters
  double sent = 0;     // to other hosts in a step
};

// Counts memory that several ranks have once.
class Memory {
 public:
  void add(std::size_t host, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const std::size_t bytes = bytes_in_memory(tensor);
    const std::lock_guard lock(mutex_);
    tensors_[host][tensor.data_ptr()] = bytes;
  }
  [[nodiscard]] double of(std::size_t host) {
    const std::lock_guard lock(mutex_);
    double bytes = 0;
    for (const auto& [address, own] : tensors_[host]) bytes += static_cast<double>(own);
    return bytes;
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::map<const void*, std::size_t>> tensors_;
};

struct Model {
  std::vector<at::Tensor> matrices;
  NamedTensors named;
  std::vector<std::vector<std::string>> layers;

  Model() {
    for (std::size_t i = 0; i < kMatrices; ++i) {
      matrices.push_back(at::ones({kHeight, kWidth}).requires_grad_());
      named.emplace_back(concat("matrix ", i), matrices.back());
      layers.push_back({named.back().first});
    }
    // The ranks get all sums of the last bucket. It has only this, the first that is named.
    matrices.push_back(at::ones({1}).requires_grad_());
    named.insert(named.begin(), {"number", matrices.back()});
  }
  [[nodiscard]] at::Tensor loss(DistributedOptimizer& optimizer) const {
    at::Tensor sum = matrices.back().sum();
    for (std::size_t i = 0; i < kMatrices; ++i) {
      optimizer.enter_layer(i);
      sum = sum + matrices[i].sum();
      sum.register_hook([&optimizer, i](const at::Tensor&) { optimizer.enter_layer(i); });
    }
    return sum;
  }
};

void add_state(Memory& memory, std::size_t host, DistributedOptimizer& optimizer) {
  for (const auto& [parameter, state] : optimizer.optimizer().state()) {
    const auto& moments = static_cast<const torch::optim::AdamWParamState&>(*state);
    memory.add(host, moments.exp_avg());
    memory.add(host, moments.exp_avg_sq());
  }
}

// By host.
std::vector<Counted> count(const std::vector<int>& hosts, Shard shard) {
  Memory kept;
  Memory in_step;
  std::vector<std::size_t> host_of;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    host_of.insert(host_of.end(), static_cast<std::size_t>(hosts[host]), host);
  }
  std::atomic<bool> is_counting = false;
  std::vector<std::atomic<std::size_t>> sent(hosts.size());
  test::RanksOptions options{.wire = test::Wire::shm, .local_sizes = hosts};
  options.segments = {};
  options.shared_chunk = std::size_t{256} << 10;
  const auto on_send = [&](int from, int to, std::size_t bytes) {
    const std::size_t host = host_of[static_cast<std::size_t>(from)];
    if (is_counting && host != host_of[static_cast<std::size_t>(to)]) sent[host] += bytes;
  };
  run_counted_ranks(
      static_cast<int>(host_of.size()),
      [&](Communicator& world) {
        const Model model;
        const auto host = static_cast<std::size_t>(world.topology().host());
        DistributedOptimizer optimizer(
            world, model.named,
            std::make_unique<torch::optim::AdamW>(model.matrices, torch::optim::AdamWOptions()),
            {.first_bucket_bytes = kBucket,
             .bucket_bytes = kBucket,
             .shard = shard,
             .layers = model.layers});
        for (int window = 0; window < 4; ++window) {
          optimizer.backward(model.loss(optimizer), 1);
          optimizer.reduce();
          // Hosts exchange parameters after a step, or ahead of the next passes. All have arrived
          // now.
          barrier(world);
          is_counting = window == 2;
          if (window == 3) {
            for (const at::Tensor& matrix : model.matrices) in_step.add(host, matrix.grad());
          }
          barrier(world);
          EXPECT_TRUE(optimizer.step());
        }
        barrier(world);
        for (const at::Tensor& matrix : model.matrices) kept.add(host, matrix);
        add_state(kept, host, optimizer);
      },
      options, on_send);
  std::vector<Counted> all;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    all.push_back({.kept = kept.of(host),
                   .in_step = in_step.of(host),
                   .sent = static_cast<double>(sent[host])});
  }
  return all;
}

// Bytes a parameter.
Counted formula(const std::vector<int>& hosts, std::size_t host, Shard shard) {
  const double own = hosts[host];
  const double all = std::accumulate(hosts.begin(), hosts.end(), 0.0);
  const double other_hosts = 1 - 1.0 / static_cast<double>(hosts.size());
  if (shard == Shard::none) {
    return {.kept = 12 * own, .in_step = 4 * own, .sent = 4 * 2 * other_hosts};
  }
  if (shard == Shard::host) return {.kept = 12, .in_step = 4 * own, .sent = 4 * 2 * other_hosts};
  const double part = own / all;
  const double next = hosts[(host + 1) % hosts.size()] / all;
  if (shard == Shard::parameters) {
    // Once for the forward pass, and but for the last layer once for the backward pass.
    const double gathers = 2 - 1.0 / kMatrices;
    return {.kept = 12 * part,
            .in_step = 4 * part,
            .in_use = 4 * (1 - part) * 3 / kMatrices,
            .sent = 4 * (1 - part) + 4 * gathers * (1 - next)};
  }
  return {.kept = 4 + 8 * part,
          .in_step = shard == Shard::gradients ? 4 * part : 4 * own,
          .sent = 4 * (1 - part) + 4 * (1 - next)};
}

void expect_close(double counted, double expected, const std::string& what) {
  EXPECT_NEAR(counted, expected, expected * 0.01) << what;
}

void expect_bytes(const std::vector<int>& hosts, Shard shard) {
  const std::vector<Counted> counted = count(hosts, shard);
  const int ranks = std::accumulate(hosts.begin(), hosts.end(), 0);
  trainer::TrainingState state{.dense = static_cast<std::uint64_t>(4 * kNumbers), .moments = 2};
  state.in_layers = state.dense;
  state.layers = kMatrices;
  state.hosts.clear();
  for (const int own : hosts) {
    state.hosts.push_back({.ranks = own, .share = static_cast<double>(own) / ranks});
  }
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    const std::string what = concat(name_of(shard), ", host ", host, " of ", hosts.size());
    const Counted& own = counted[host];
    const Counted expected = formula(hosts, host, shard);
    expect_close(own.in_step, kNumbers * expected.in_step, what + ": gradients before a step");
    const trainer::ShardCost cost = trainer::shard_cost(state, host, shard);
    const double kept = kNumbers * expected.kept;
    const double peak = kNumbers * (expected.kept + expected.in_step + expected.in_use);
    expect_close(static_cast<double>(cost.weights + cost.moments), kept, what + ": estimate");
    expect_close(static_cast<double>(cost.peak), peak, what + ": estimate of the peak");
    // Layers may be on their way to the next pass.
    EXPECT_GT(own.kept, kept * 0.99) << what;
    EXPECT_LT(own.kept, (kept + kNumbers * expected.in_use) * 1.01) << what;
    if (hosts.size() == 1) {
      EXPECT_EQ(own.sent, 0) << what;
      continue;
    }
    expect_close(own.sent, kNumbers * expected.sent, what + ": sent");
    expect_close(own.sent, static_cast<double>(cost.sent), what + ": estimate of what is sent");
  }
}

// docs/acceptance.md, Optimizer: What ranks keep and send with each kind of sharding is, within 1
// %, what docs/optimizer.md and `estimate` say.
TEST(ShardBytes, AreThoseOfTheFormulasAndOfEstimate) {
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{4}, {2, 2}, {3, 1}}) {
    for (const Shard shard :
         {Shard::none, Shard::host, Shard::optimizer, Shard::gradients, Shard::parameters}) {
      expect_bytes(hosts, shard);
    }
  }
}

}  // namespace
}  // namespace bp
