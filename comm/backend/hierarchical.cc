#include "comm/backend/hierarchical.h"

#include <limits>
#include <utility>

#include "comm/backend/algorithms.h"
#include "comm/backend/parts.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/hierarchy.h"

namespace bp {
namespace {

// A shorter vector takes one rail. Several would only be more messages at a time.
constexpr std::size_t kSeveralRailsFrom = std::size_t{256} << 10;

// Returns the counts of the shares of this host's ranks.
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

// No rank completes before all have entered: a rank's shares come over rails to which all hosts
// belong, and each host begins after all its ranks have entered.
void Hierarchical::all_reduce(CollectiveCall& call, View data, ReduceOp op) {
  const int most = data.bytes() < kSeveralRailsFrom ? 1 : std::numeric_limits<int>::max();
  const Hierarchy hierarchy(call.rank(), local_sizes_, most);
  const std::vector<std::size_t> counts = shares(hierarchy, data.count);
  // The rank that carries a share divides it once, when it is complete.
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
