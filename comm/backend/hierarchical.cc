#include "comm/backend/hierarchical.h"

#include <limits>
#include <utility>

#include "comm/backend/algorithms.h"
#include "comm/backend/parts.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/hierarchy.h"

namespace bp {
namespace {

// What is shorter goes by one rail: several would only be more messages at once.
constexpr std::size_t kSeveralRailsFrom = std::size_t{256} << 10;

// The share of each rank of this host.
std::vector<std::size_t> shares(const Hierarchy& hierarchy, std::size_t count) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(hierarchy.local_size()), 0);
  for (int l = 0; l < hierarchy.rails(); ++l) {
    counts[static_cast<std::size_t>(l)] = block_of(count, hierarchy.rails(), l).count;
  }
  return counts;
}

}  // namespace

Hierarchical::Hierarchical(std::vector<int> local_sizes,
                           std::unique_ptr<SharedBackend> inside,
                           const SegmentLimits& limits,
                           Selection between)
    : local_sizes_(std::move(local_sizes)),
      inside_(std::move(inside)),
      limits_(limits),
      between_(std::move(between)) {}

// Nobody is through before all have entered: a rank's shares come from rails that all hosts are on,
// each after its own ranks have met.
void Hierarchical::all_reduce(CollectiveCall& call, View data, ReduceOp op) {
  const int most = data.bytes() < kSeveralRailsFrom ? 1 : std::numeric_limits<int>::max();
  const Hierarchy hierarchy(call.rank(), local_sizes_, most);
  const std::vector<std::size_t> counts = shares(hierarchy, data.count);
  // Divided once, by who carries the share, when all of it is there.
  const ReduceOp step = op == ReduceOp::average ? ReduceOp::sum : op;
  const View own = part_of(data, gathered_block(counts, hierarchy.local_rank()));
  if (hierarchy.local_size() > 1) {
    const CollectiveCall::Team host(call, hierarchy.host_ranks());
    reduce_inside(call, data, counts, step);
  }
  if (hierarchy.share() >= 0) {
    const CollectiveCall::Team rail(call, hierarchy.rail_ranks());
    all_reduce_by(between_.all_reduce(own.bytes()), call, own, step, limits_);
  }
  if (hierarchy.share() >= 0 && op == ReduceOp::average) {
    finish_average(own.type, own.data, own.count, call.size());
  }
  if (hierarchy.local_size() > 1) {
    const CollectiveCall::Team host(call, hierarchy.host_ranks());
    gather_inside(call, data, counts);
  }
}

void Hierarchical::reduce_inside(CollectiveCall& call,
                                 View data,
                                 std::span<const std::size_t> counts,
                                 ReduceOp op) {
  const View own = part_of(data, gathered_block(counts, call.rank()));
  if (inside_ == nullptr) return ring_reduce_scatter(call, data, own, counts, op, limits_);
  inside_->reduce_scatter(call, data, own, counts, op);
}

void Hierarchical::gather_inside(CollectiveCall& call,
                                 View data,
                                 std::span<const std::size_t> counts) {
  if (inside_ == nullptr) return ring_all_gather(call, data, counts, limits_);
  inside_->all_gather(call, data, counts);
}

}  // namespace bp
