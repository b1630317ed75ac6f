// The rounds in which hosts exchange what they have learned (Sync of bp/torch/sync.h): when they
// are, and what they make of the parameters.
//
// The first rank of each host keeps the common parameters of the last round, and the momentum. It
// sends the difference of its host's parameters to them, in buckets as gradients, and of parameters
// with sparse gradients the rows that have changed by one. All compute the same from the sums, so
// that the common parameters stay equal bit for bit on all hosts.
//
// A round sends one *fragment* of the parameters and receives it, at once or, late, in the next
// round. At most one is on its way.
//
// Threads: one at a time.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "bp/torch/distributed_optimizer.h"
#include "comm/torch/bucket.h"
#include "comm/torch/bucket_arithmetic.h"
#include "comm/torch/parameter_set.h"
#include "comm/torch/sparse_rows.h"

namespace bp {

class Synchroniser {
 public:
  using Totals = DistributedOptimizer::Window;

  // `leaders`: the first ranks of all hosts; null on other ranks, and with one host. All must
  // outlive this object.
  Synchroniser(Communicator& world,
               Communicator* leaders,
               const std::vector<Parameter>& parameters,
               const DistributedOptimizerOptions& options);
  ~Synchroniser();
  Synchroniser(const Synchroniser&) = delete;
  Synchroniser& operator=(const Synchroniser&) = delete;

  // The parameters are the common ones: the same on all hosts.
  void begin();
  // A step begins.
  void step_begins();
  // The gradients of a step are reduced over the host, and the parameters are not yet updated.
  void note_rows();
  // A step has ended. Returns whether a round is due.
  [[nodiscard]] bool add(const Totals& of_host);
  // Whether the next step ends with a round, and whether the last step did.
  [[nodiscard]] bool ends_round() const { return steps_ + 1 >= step_of_round(next_); }
  [[nodiscard]] bool ended_round() const { return ended_round_; }
  // Whether all hosts have the common parameters.
  [[nodiscard]] bool is_common() const { return is_common_; }

  // Both are collective; the ranks of a host have finished their steps. Afterwards the first rank
  // of each host has its new parameters. Makes a round.
  void meet();
  // Makes all parameters common. The rounds begin again.
  void synchronise();
  // The totals of all hosts in the last round.
  [[nodiscard]] const Totals& totals() const { return totals_; }

  void add_to(DistributedOptimizer::State& state) const;
  // Collective. The hosts take the momentum of rank 0, and 0 for parameters that it lacks.
  void load(const DistributedOptimizer::State& state);
  // Collective. The tensors of rank 0's state become the mean of the hosts', by what each host has
  // trained on since the last call, unless hosts have other numbers of them or the optimizer is
  // unknown (Elementwise). The state of other hosts is lost.
  void average_to_rank_0(torch::optim::Optimizer& optimizer);

 private:
  struct Entry {
    Parameter parameter = {};
    bool is_sparse = false;
    at::Tensor common = {};               // on the first rank of a host, as all that follow
    at::Tensor momentum = {};             // undefined without
    at::Tensor difference = {};           // in a bucket; undefined for a sparse one and one host
    at::Tensor sent = {};                 // the parameter when it was sent, if that is late
    std::vector<std::uint8_t> rows = {};  // of a sparse one: they had a gradient
  };
  struct Fragment {
    std::vector<std::size_t> entries = {};
    std::vector<Bucket> buckets = {};
    double weight = 0;  // of this host, since it was sent
  };
  // What a rank tells the others in a round.
  struct OfRank {
    double weight = 0;  // since the last round
    double weighted_loss = 0;
    std::array<double, kMostFragments> of_fragments = {};  // see Fragment::weight
    double seconds = 0;                                    // of a step
    double stops = 0;
    std::uint64_t common = 0;  // a hash of what must be the same
  };

  void fill_fragments(const DistributedOptimizerOptions& options);
  [[nodiscard]] bool is_first() const { return world_.topology().local_rank() == 0; }
  // The step of `steps_of_round_` that ends with this fragment's round.
  [[nodiscard]] std::int64_t step_of_round(std::size_t fragment) const;
  [[nodiscard]] OfRank of_this_rank() const;
  [[nodiscard]] std::vector<OfRank> of_hosts();
  void tell();
  void begin_again();
  void send(Fragment& fragment);
  void receive();
  [[nodiscard]] at::Tensor difference_of(Entry& entry, double share) const;
  [[nodiscard]] static at::Tensor take_rows(Entry& entry, double share);
  void apply(Entry& entry, const at::Tensor& sum) const;

  Communicator& world_;
  Communicator* const leaders_;
  const Sync sync_;
  const bool is_late_;
  const std::unique_ptr<const BucketArithmetic> on_device_;  // null for the CPU
  std::vector<Entry> entries_;
  std::vector<Fragment> fragments_;
  Fragment* on_its_way_ = nullptr;  // on all ranks
  SparseSums rows_on_their_way_;

  std::size_t next_ = 0;    // fragment
  std::int64_t steps_ = 0;  // since the first fragment was next
  std::int64_t steps_of_round_;
  bool ended_round_ = true;
  bool is_common_ = true;
  std::chrono::steady_clock::time_point began_;  // the first of them
  Totals since_;                                 // of this host, since the last round
  std::vector<OfRank> told_;                     // by the hosts in the last round
  Totals totals_;
  std::vector<double> trained_;  // weight of each host, for average_to_rank_0()
};

}  // namespace bp
