#include "comm/torch/synchroniser.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <span>
#include <utility>

#include "base/mix.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "comm/torch/device_arithmetic.h"
#include "comm/torch/divisible.h"
#include "comm/torch/slot_tensor.h"
#include "comm/torch/sparse_rows.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

using SyncClock = std::chrono::steady_clock;

// A host may wait for a slower one, which ends at once if that one ends.
constexpr std::chrono::hours kSlowestHost(1);
constexpr double kMostSteps = 1e6;  // of a round

View all_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()),
          static_cast<std::size_t>(tensor.numel()), *data_type_of(tensor.scalar_type()),
          device_of(tensor.device())};
}

}  // namespace

Synchroniser::Synchroniser(Communicator& world,
                           Communicator* leaders,
                           const std::vector<Parameter>& parameters,
                           const DistributedOptimizerOptions& options)
    : world_(world),
      leaders_(leaders),
      sync_(options.sync),
      is_late_(options.sync.late && world.topology().hosts() > 1),
      on_device_(device_bucket_arithmetic(parameters.at(0).tensor.device())),
      fragments_(static_cast<std::size_t>(options.sync.fragments)),
      steps_of_round_(sync_.interval.count() > 0 ? 1 : sync_.every),
      trained_(static_cast<std::size_t>(world.topology().hosts()), 0.0) {
  for (const Parameter& parameter : parameters) {
    const at::Tensor& tensor = parameter.tensor;
    Entry& entry = entries_.emplace_back(Entry{.parameter = parameter});
    entry.is_sparse = std::ranges::count(options.sparse_gradients, parameter.name) > 0;
    if (entry.is_sparse) entry.rows.resize(static_cast<std::size_t>(tensor.size(0)));
    if (!is_first()) continue;
    entry.common = tensor.detach().clone();
    if (sync_.outer.momentum != 0) entry.momentum = at::zeros_like(entry.common);
  }
  fill_fragments(options);
}

// In their order. What is sparse does not count for the size, since only some of its rows travel.
void Synchroniser::fill_fragments(const DistributedOptimizerOptions& options) {
  std::vector<GradientSize> sizes;
  std::size_t all = 0;
  for (const Entry& entry : entries_) {
    const at::Tensor& tensor = entry.parameter.tensor;
    sizes.push_back({.count = static_cast<std::size_t>(tensor.numel()),
                     .type = *data_type_of(tensor.scalar_type())});
    if (!entry.is_sparse) all += tensor.nbytes();
  }
  std::size_t before = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t fragment = all > 0 ? before * fragments_.size() / all : 0;
    fragments_[std::min(fragment, fragments_.size() - 1)].entries.push_back(i);
    if (!entries_[i].is_sparse) before += entries_[i].parameter.tensor.nbytes();
  }
  if (leaders_ == nullptr) return;
  const BucketLimits limits{
      .first_bytes = options.bucket_bytes, .bytes = options.bucket_bytes, .wire = options.wire};
  for (Fragment& fragment : fragments_) {
    std::vector<std::size_t> dense;
    std::ranges::copy_if(fragment.entries, std::back_inserter(dense),
                         [&](std::size_t i) { return !entries_[i].is_sparse; });
    for (BucketPlan& plan : plan_buckets(sizes, dense, limits)) {
      if (plan.count == 0) continue;
      const Bucket& bucket =
          fragment.buckets.emplace_back(*leaders_, std::move(plan), 0, false, nullptr, false,
                                        on_device_ ? *on_device_ : host_bucket_arithmetic());
      for (const Slot& slot : bucket.plan().slots) {
        Entry& entry = entries_[slot.parameter];
        entry.difference =
            tensor_in(bucket.memory(), bucket.plan().type, slot, entry.parameter.tensor);
      }
    }
  }
}

// Memory of a communicator is freed at once, while the device may still have work that reads it.
Synchroniser::~Synchroniser() {
  try {
    if (on_device_) on_device_->finish_stream();
  } catch (const std::exception&) {  // of the device, which has failed; the next use reports it
  }
}

void Synchroniser::begin() {
  receive();  // what is on its way to weights that count no more
  next_ = 0;
  steps_ = 0;
  ended_round_ = true;
  is_common_ = true;
  since_ = {};
  for (Fragment& fragment : fragments_) fragment.weight = 0;
  for (Entry& entry : entries_) {
    std::ranges::fill(entry.rows, 0);
    if (entry.common.defined()) entry.common.copy_(entry.parameter.tensor.detach());
  }
}

void Synchroniser::step_begins() {
  if (steps_ == 0) began_ = SyncClock::now();
}

void Synchroniser::note_rows() {
  if (!is_first()) return;
  for (Entry& entry : entries_) {
    const at::Tensor& gradient = entry.parameter.tensor.grad();
    if (!entry.is_sparse || !gradient.defined()) continue;
    if (!gradient.is_sparse()) {
      std::ranges::fill(entry.rows, 1);
      continue;
    }
    const at::Tensor rows = gradient._indices().select(0, 0).contiguous();
    for (const std::int64_t row :
         std::span(rows.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.numel()))) {
      entry.rows[static_cast<std::size_t>(row)] = 1;
    }
  }
}

bool Synchroniser::add(const Totals& of_host) {
  ended_round_ = ends_round();
  ++steps_;
  is_common_ = false;
  since_.stop = since_.stop || of_host.stop;
  const double weight = of_host.overflow ? 0 : of_host.weight;
  since_.weight += weight;
  if (weight > 0) since_.loss += weight * of_host.loss;
  for (Fragment& fragment : fragments_) fragment.weight += weight;
  return ended_round_;
}

std::int64_t Synchroniser::step_of_round(std::size_t fragment) const {
  return static_cast<std::int64_t>(fragment + 1) * steps_of_round_ /
         static_cast<std::int64_t>(fragments_.size());
}

Synchroniser::OfRank Synchroniser::of_this_rank() const {
  const std::chrono::duration<double> took = SyncClock::now() - began_;
  OfRank mine{.weight = since_.weight,
              .weighted_loss = since_.loss,
              .seconds = steps_ > 0 ? took.count() / static_cast<double>(steps_) : 0,
              .stops = since_.stop ? 1.0 : 0.0};
  std::ranges::transform(fragments_, mine.of_fragments.begin(), &Fragment::weight);
  MixHash common;
  for (const Entry& entry : entries_) {
    if (entry.common.defined()) common.add(last_element_of(entry.common));
  }
  mine.common = common.value();
  return mine;
}

// Returns what the first rank of each host says, with the seconds of the slowest of all ranks.
std::vector<Synchroniser::OfRank> Synchroniser::of_hosts() {
  OfRank mine = of_this_rank();
  std::vector<OfRank> ranks(static_cast<std::size_t>(world_.size()));
  const auto bytes = [](auto all) { return std::as_writable_bytes(all); };
  const std::span<std::byte> from = bytes(std::span(&mine, 1));
  const std::span<std::byte> to = bytes(std::span(ranks));
  all_gather(world_, ConstView{from.data(), from.size(), DataType::u8},
             View{to.data(), to.size(), DataType::u8}, {.name = "round", .timeout = kSlowestHost});
  std::vector<OfRank> hosts;
  for (int host = 0; host < world_.topology().hosts(); ++host) {
    hosts.push_back(ranks[static_cast<std::size_t>(world_.topology().leader_of(host))]);
    if (hosts.back().common == hosts.front().common) continue;
    throw Error(ErrorCode::mismatch,
                concat("DistributedOptimizer: the hosts ", world_.topology().host_name(0), " and ",
                       world_.topology().host_name(host),
                       " had other parameters after the last round: begin with "
                       "broadcast_parameters(), and write parameters with the same values on "
                       "every rank, just after a round only"));
  }
  hosts.front().seconds = std::ranges::max(ranks, {}, &OfRank::seconds).seconds;
  return hosts;
}

void Synchroniser::tell() {
  told_ = of_hosts();
  totals_ = {};
  for (std::size_t i = 0; i < told_.size(); ++i) {
    totals_.weight += told_[i].weight;
    totals_.loss += told_[i].weighted_loss;
    totals_.stop = totals_.stop || told_[i].stops != 0;
    trained_[i] += told_[i].weight;
  }
  if (totals_.weight > 0) totals_.loss /= totals_.weight;
  since_ = {};
}

void Synchroniser::meet() {
  tell();
  receive();
  send(fragments_[next_]);
  if (!is_late_) receive();
  is_common_ = !is_late_ && fragments_.size() == 1;
  if (++next_ == fragments_.size()) begin_again();
}

void Synchroniser::synchronise() {
  tell();
  receive();
  for (Fragment& fragment : fragments_) {
    send(fragment);
    receive();
  }
  ended_round_ = true;
  is_common_ = true;
  begin_again();
}

void Synchroniser::begin_again() {
  const double slowest = told_.front().seconds;
  if (sync_.interval.count() > 0 && slowest > 0) {
    const std::chrono::duration<double> interval = sync_.interval;
    steps_of_round_ =
        static_cast<std::int64_t>(std::clamp(interval.count() / slowest, 1.0, kMostSteps));
  }
  next_ = 0;
  steps_ = 0;
}

// Nothing if no host has trained it.
void Synchroniser::send(Fragment& fragment) {
  const auto number = static_cast<std::size_t>(&fragment - fragments_.data());
  double all = 0;
  for (const OfRank& host : told_) all += host.of_fragments[number];
  fragment.weight = 0;
  if (all <= 0) return;
  on_its_way_ = &fragment;
  if (leaders_ == nullptr) return;
  const auto host = static_cast<std::size_t>(world_.topology().host());
  const double share = told_[host].of_fragments[number] / all;
  for (Bucket& bucket : fragment.buckets) {
    for (const Slot& slot : bucket.plan().slots) {
      (void)difference_of(entries_[slot.parameter], share);
    }
    bucket.start(concat("round ", number + 1, ", bucket ", &bucket - fragment.buckets.data() + 1,
                        "/", fragment.buckets.size()));
  }
  std::vector<SparseGradient> rows;
  for (const std::size_t i : fragment.entries) {
    Entry& entry = entries_[i];
    if (entry.is_sparse) rows.push_back({entry.parameter, take_rows(entry, share)});
    if (is_late_) entry.sent = entry.parameter.tensor.detach().clone();
  }
  if (!rows.empty()) rows_on_their_way_ = SparseSums(*leaders_, rows);
}

void Synchroniser::receive() {
  Fragment* const fragment = std::exchange(on_its_way_, nullptr);
  if (fragment == nullptr || !is_first()) return;
  const std::vector<at::Tensor> sums = rows_on_their_way_.finish();
  for (Bucket& bucket : fragment->buckets) {
    bucket.wait();
    bucket.finish(false);
  }
  auto next = sums.begin();
  for (const std::size_t i : fragment->entries) {
    Entry& entry = entries_[i];
    if (entry.is_sparse) {
      apply(entry, leaders_ != nullptr ? *next++ : take_rows(entry, 1));
    } else {
      apply(entry, entry.difference.defined() ? entry.difference : difference_of(entry, 1));
    }
  }
}

// Where a bucket has room for it, it is there.
at::Tensor Synchroniser::difference_of(Entry& entry, double share) const {
  const at::Tensor now = entry.parameter.tensor.detach();
  if (!entry.difference.defined()) return entry.common - now;
  at::sub_out(entry.difference, entry.common, now);
  return entry.difference.mul_(share);
}

// Returns the difference of the rows that had a gradient, which from here on had none.
at::Tensor Synchroniser::take_rows(Entry& entry, double share) {
  std::vector<std::int64_t> numbers;
  for (std::size_t row = 0; row < entry.rows.size(); ++row) {
    if (std::exchange(entry.rows[row], 0) != 0) numbers.push_back(static_cast<std::int64_t>(row));
  }
  const at::Tensor rows = at::tensor(numbers, at::kLong);
  const at::Tensor now = entry.parameter.tensor.detach();
  const at::Tensor values = entry.common.index_select(0, rows).sub_(now.index_select(0, rows));
  return at::_sparse_coo_tensor_unsafe(rows.unsqueeze(0), values.mul_(share), now.sizes())
      ._coalesced_(true);
}

// The rule of bp/torch/sync.h. `sum` is dense, or has some rows.
void Synchroniser::apply(Entry& entry, const at::Tensor& sum) const {
  const auto& [rate, momentum, nesterov] = sync_.outer;
  const auto add_to = [&](const at::Tensor& to, double factor) {
    if (sum.is_sparse()) {
      to.index_add_(0, sum._indices().select(0, 0), sum._values(), factor);
    } else {
      to.add_(sum, factor);
    }
  };
  if (entry.momentum.defined()) {
    entry.momentum.mul_(momentum);
    add_to(entry.momentum, 1);
    entry.common.sub_(entry.momentum, nesterov ? rate * momentum : rate);
  }
  if (!entry.momentum.defined() || nesterov) add_to(entry.common, -rate);
  const at::Tensor now = entry.parameter.tensor.detach();
  if (entry.sent.defined()) {
    now.sub_(std::exchange(entry.sent, {})).add_(entry.common);
  } else {
    now.copy_(entry.common);
  }
}

void Synchroniser::add_to(DistributedOptimizer::State& state) const {
  if (sync_.interval.count() > 0) state.steps_of_round = steps_of_round_;
  for (const Entry& entry : entries_) {
    if (!entry.momentum.defined()) continue;
    state.outer_momentum.emplace_back(entry.parameter.name, entry.momentum);
  }
}

void Synchroniser::load(const DistributedOptimizer::State& state) {
  const auto& momentum = state.outer_momentum;
  if (sync_.interval.count() > 0) steps_of_round_ = std::max<std::int64_t>(state.steps_of_round, 1);
  for (Entry& entry : entries_) {
    if (!entry.momentum.defined()) continue;
    const auto& name = entry.parameter.name;
    const auto given = std::ranges::find(momentum, name, &NamedTensors::value_type::first);
    if (given == momentum.end()) {
      entry.momentum.zero_();
    } else {
      entry.momentum.copy_(given->second);
    }
    if (leaders_ != nullptr) {
      broadcast(*leaders_, all_of(entry.momentum),
                after_work_on(entry.momentum, {.name = "outer momentum of " + name}));
    }
  }
  begin();
}

void Synchroniser::average_to_rank_0(torch::optim::Optimizer& optimizer) {
  double all = 0;
  for (const double weight : trained_) all += weight;
  const double own = trained_[static_cast<std::size_t>(world_.topology().host())];
  std::ranges::fill(trained_, 0);
  const Elementwise* const states = elementwise(optimizer);
  if (leaders_ == nullptr || all == 0 || states == nullptr) return;
  std::vector<at::Tensor> tensors;
  for (const Entry& entry : entries_) {
    const auto found = optimizer.state().find(entry.parameter.tensor.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    for (const at::Tensor* one : states->tensors_of(*found->second)) {
      if (one->defined()) tensors.push_back(*one);
    }
  }
  // A host that never had a row has no state.
  const auto mine = static_cast<std::int64_t>(tensors.size());
  std::vector<std::int64_t> counts(static_cast<std::size_t>(leaders_->size()));
  all_gather(*leaders_, const_view(std::span(&mine, 1)), view(counts), {.name = "state of hosts"});
  if (std::ranges::count(counts, mine) != leaders_->size()) return;
  std::vector<Work> works;
  for (const at::Tensor& tensor : tensors) {
    tensor.mul_(own / all);
    works.push_back(reduce_async(*leaders_, all_of(tensor),
                                 after_work_on(tensor, {.name = "mean state of hosts"})));
  }
  for (Work& work : works) work.wait();
}

}  // namespace bp
