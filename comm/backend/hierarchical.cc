// The collectives of one communicator that work inside the hosts and between them
// (comm/schedule/hierarchy.h). Inside a host they work in memory that the ranks share, or by
// messages if they share none; between hosts they work by messages.
//
// No rank completes before all have entered: the leaders exchange nothing before all ranks of their
// hosts have entered, and no other rank leaves before its leader has heard of the other hosts.
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "comm/backend/cpu.h"
#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/hierarchy.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

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

// Returns the largest number of rails. An operation with one leader on each host has one.
int rails_for(const Operation& operation) {
  const bool several =
      (operation.kind == Kind::all_reduce || operation.kind == Kind::all_reduce_int8) &&
      operation.output.bytes() >= kSeveralRailsFrom;
  return several ? std::numeric_limits<int>::max() : 1;
}

// A mean is divided once, when its sum is complete.
ReduceOp step_of(ReduceOp op) { return op == ReduceOp::average ? ReduceOp::sum : op; }

void divide(const View& sum, const CollectiveCall& call, ReduceOp op) {
  if (op == ReduceOp::average) finish_average(sum.type, sum.data, sum.count, call.size());
}

View empty(DataType type) { return {nullptr, 0, type}; }

}  // namespace

// One collective. Its functions are called by all ranks of the communicator.
class CpuBackend::OverHosts {
 public:
  OverHosts(CpuBackend& backend, CollectiveCall& call, const Operation& operation)
      : backend_(backend),
        call_(call),
        operation_(operation),
        hierarchy_(call.rank(), backend.parts_.topology.local_sizes, rails_for(operation)),
        leaders_(hierarchy_.leaders(operation.root)),
        leader_(leaders_[static_cast<std::size_t>(hierarchy_.host())]),
        is_leader_(call.rank() == leader_) {}

  void run() {
    switch (operation_.kind) {
      case Kind::all_reduce:
      case Kind::all_reduce_int8:
        return all_reduce();
      case Kind::barrier:
        inside({.kind = Kind::barrier});
        between({.kind = Kind::barrier});
        return inside({.kind = Kind::barrier});
      case Kind::broadcast:
        return broadcast();
      case Kind::reduce:
        return reduce();
      case Kind::reduce_scatter:
        return reduce_scatter();
      case Kind::all_gather:
        return all_gather();
      case Kind::gather:
        return gather();
      case Kind::scatter:
        return scatter();
      default:
        BP_CHECK(false, "this collective knows no hosts");
    }
  }

 private:
  // `root` of these is set here: the leader of this host, and the root's host.
  void inside(Operation part) {
    part.root = leader_ - hierarchy_.first();
    const CollectiveCall::Team host(call_, hierarchy_.host_ranks());
    if (backend_.inside_ == nullptr) {
      backend_.run_flat(part, call_, Algorithm::automatic);
    } else {
      backend_.inside_->run(part, call_);
    }
  }
  void between(Operation part) {
    if (!is_leader_) return;
    for (std::size_t h = 0; h < leaders_.size(); ++h) {
      if (leaders_[h] == operation_.root) part.root = static_cast<int>(h);
    }
    const CollectiveCall::Team team(call_, leaders_);
    backend_.run_flat(part, call_, Algorithm::automatic);
  }

  [[nodiscard]] bool is_alone() const { return hierarchy_.local_size() == 1; }  // on its host
  [[nodiscard]] bool is_root() const { return call_.rank() == operation_.root; }

  [[nodiscard]] View room(std::size_t count, DataType type) const {
    return {backend_.room_.at_least(count * size_of(type)).data(), count, type};
  }

  // A rank's shares come over rails to which all hosts belong, and each host begins after all its
  // ranks have entered.
  void all_reduce() {
    const View& data = operation_.output;
    const ReduceOp step = step_of(operation_.reduce);
    const std::vector<std::size_t> counts = shares(hierarchy_, data.count);
    const Block share = gathered_block(counts, hierarchy_.local_rank());
    const View own = part_of(data, share);
    inside({.kind = Kind::reduce_scatter,
            .reduce = step,
            .input = data,
            .output = own,
            .counts = counts});
    std::byte* const errors = operation_.errors;
    if (hierarchy_.share() >= 0) {
      const CollectiveCall::Team rail(call_, hierarchy_.rail_ranks());
      Operation part{.kind = operation_.kind, .reduce = step, .output = own};
      if (errors != nullptr) part.errors = errors + share.offset * sizeof(float);
      backend_.run_flat(part, call_, backend_.between_hosts_.all_reduce(own.bytes()));
    }
    if (hierarchy_.share() >= 0) divide(own, call_, operation_.reduce);
    inside({.kind = Kind::all_gather, .input = own, .output = data, .counts = counts});
  }

  void broadcast() {
    inside({.kind = Kind::barrier});
    const Operation part{.kind = Kind::broadcast, .output = operation_.output};
    between(part);
    inside(part);
  }

  // Reduces this host's vectors. Returns the result, where it was given if that is `mine` or of one
  // rank, else in the backend's room; on ranks that are no leaders, what they gave.
  View reduce_inside(const ConstView& given, const View& mine) {
    // The vectors of ranks other than the root are only read.
    View data{const_cast<std::byte*>(given.data), given.count, given.type};
    if (is_leader_ && !is_alone() && mine.data != given.data) {
      data = room(given.count, given.type);
      if (given.count > 0) std::memcpy(data.data, given.data, given.bytes());
    }
    inside({.kind = Kind::reduce, .reduce = step_of(operation_.reduce), .output = data});
    return data;
  }

  void reduce() {
    const View& own = operation_.output;
    const View sum = reduce_inside(own, is_root() ? own : empty(own.type));
    between({.kind = Kind::reduce, .reduce = step_of(operation_.reduce), .output = sum});
    if (is_root()) divide(own, call_, operation_.reduce);
    inside({.kind = Kind::barrier});
  }

  void reduce_scatter() {
    const View& output = operation_.output;
    const View sum = reduce_inside(operation_.input, empty(output.type));
    const std::vector<std::size_t> counts = hierarchy_.counts_of_hosts(operation_.counts);
    const View block = is_alone()   ? output
                       : is_leader_ ? part_of(sum, gathered_block(counts, hierarchy_.host()))
                                    : empty(output.type);
    between({.kind = Kind::reduce_scatter,
             .reduce = step_of(operation_.reduce),
             .input = sum,
             .output = block,
             .counts = counts});
    inside({.kind = Kind::scatter,
            .input = block,
            .output = output,
            .counts = hierarchy_.counts_of_host(operation_.counts)});
    divide(output, call_, operation_.reduce);
  }

  void all_gather() {
    const View& output = operation_.output;
    const std::vector<std::size_t> counts = hierarchy_.counts_of_hosts(operation_.counts);
    const View block = part_of(output, gathered_block(counts, hierarchy_.host()));
    gather_inside(is_leader_ ? block : empty(output.type));
    between({.kind = Kind::all_gather, .input = block, .output = output, .counts = counts});
    inside({.kind = Kind::broadcast, .output = output});
  }

  void gather_inside(const View& block) {
    inside({.kind = Kind::gather,
            .input = operation_.input,
            .output = block,
            .counts = hierarchy_.counts_of_host(operation_.counts)});
  }

  void gather() {
    const DataType type = operation_.input.type;
    const std::vector<std::size_t> counts = hierarchy_.counts_of_hosts(operation_.counts);
    const Block own = gathered_block(counts, hierarchy_.host());
    const View block = is_root()    ? part_of(operation_.output, own)
                       : is_leader_ ? room(own.count, type)
                                    : empty(type);
    gather_inside(block);
    between({.kind = Kind::gather, .input = block, .output = operation_.output, .counts = counts});
    inside({.kind = Kind::barrier});
  }

  void scatter() {
    const View& output = operation_.output;
    inside({.kind = Kind::barrier});
    const std::vector<std::size_t> counts = hierarchy_.counts_of_hosts(operation_.counts);
    const Block own = gathered_block(counts, hierarchy_.host());
    const View block = is_leader_ ? room(own.count, output.type) : empty(output.type);
    between({.kind = Kind::scatter, .input = operation_.input, .output = block, .counts = counts});
    inside({.kind = Kind::scatter,
            .input = block,
            .output = output,
            .counts = hierarchy_.counts_of_host(operation_.counts)});
  }

  CpuBackend& backend_;
  CollectiveCall& call_;
  const Operation& operation_;
  const Hierarchy hierarchy_;
  const std::vector<int> leaders_;
  const int leader_;  // of this host
  const bool is_leader_;
};

void CpuBackend::run_over_hosts(const Operation& operation, CollectiveCall& call) {
  const std::string_view name = name_of(Algorithm::hierarchical);
  call.use(name);
  OverHosts(*this, call, operation).run();
  call.use(name);  // and not the way of its last part
}

}  // namespace bp
