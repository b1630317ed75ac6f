#include "comm/backend/cpu.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "comm/backend/network/algorithms.h"
#include "comm/backend/network/exchange.h"
#include "comm/schedule/hierarchy.h"

namespace bp {
namespace {

void gather_own_input(const Operation& operation, const CollectiveCall& call) {
  const ConstView& input = operation.input;
  const Block own = gathered_block(operation.counts, call.rank());
  std::byte* target = operation.output.data + own.offset * size_of(input.type);
  if (input.bytes() > 0 && input.data != target) {
    std::memmove(target, input.data, input.bytes());
  }
}

std::string name_with_memory(const BackendParts& parts) {
  return parts.shared ? parts.transport + "+shm" : parts.transport;
}

SelectionKey key_of(const BackendParts& parts) {
  return {.backend = name_with_memory(parts),
          .ranks = parts.topology.size(),
          .hosts = parts.topology.hosts()};
}

// Returns the key of the communication between hosts, with one rank of each.
SelectionKey key_of_leaders(const BackendParts& parts) {
  const int hosts = parts.topology.hosts();
  return {.backend = parts.transport, .ranks = hosts, .hosts = hosts};
}

// Returns the name of the algorithm that was chosen for such an operation.
std::string_view name_of(Algorithm chosen, Operation::Kind kind) {
  if (chosen != Algorithm::automatic) return name_of(chosen);
  switch (kind) {
    case Operation::Kind::broadcast:
    case Operation::Kind::reduce:
      return "binomial_tree";
    case Operation::Kind::reduce_scatter:
    case Operation::Kind::all_gather:
      return "ring";
    case Operation::Kind::barrier:
      return "dissemination";
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
    case Operation::Kind::all_to_all:
    case Operation::Kind::all_to_all_v:
      return "pairwise";
    default:  // a choice is always made, or no backend is needed
      return "unknown";
  }
}

}  // namespace

CpuBackend::CpuBackend(BackendParts parts, std::unique_ptr<Backend> inside)
    : parts_(std::move(parts)),
      algorithm_(parse_algorithm(parts_.algorithm, parts_.topology.local_sizes)),
      name_(name_with_memory(parts_)),
      selection_(key_of(parts_), parts_.measured),
      between_hosts_(key_of_leaders(parts_), parts_.measured),
      inside_(std::move(inside)),
      others_are_hierarchical_(is_possible(Algorithm::hierarchical, parts_.topology.local_sizes) &&
                               (algorithm_ == Algorithm::hierarchical ||
                                (algorithm_ == Algorithm::automatic && parts_.shared))),
      room_([this](std::size_t bytes, const Device& device) {
        return inside_ ? inside_->allocate(bytes, device) : allocate(bytes, device);
      }) {}

// Another algorithm of all_reduce that the program asks for works by messages, and beside it all
// operations do.
Algorithm CpuBackend::choose(Operation::Kind kind, std::size_t bytes) const {
  switch (kind) {
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_reduce_grouped:
      return algorithm_ == Algorithm::automatic ? selection_.all_reduce(bytes) : algorithm_;
    case Operation::Kind::all_reduce_int8:
      return Algorithm::hierarchical;
    case Operation::Kind::all_to_all:
    case Operation::Kind::all_to_all_v:
    case Operation::Kind::message:  // needs no backend
    case Operation::Kind::join:
      return Algorithm::automatic;
    default:
      return others_are_hierarchical_ ? Algorithm::hierarchical : Algorithm::automatic;
  }
}

std::string_view CpuBackend::algorithm_of(Operation::Kind kind, std::size_t bytes) const {
  return name_of(choose(kind, bytes), kind);
}

void CpuBackend::settle(CollectiveCall& call) {
  const Hierarchy hierarchy(call.rank(), parts_.topology.local_sizes, 1);
  const CollectiveCall::Team host(call, hierarchy.host_ranks());
  inside_->settle(call);
}

void CpuBackend::run(const Operation& operation, CollectiveCall& call) {
  const Algorithm chosen = choose(operation.kind, operation.output.bytes());
  if (chosen == Algorithm::hierarchical) return run_over_hosts(operation, call);
  call.use(name_of(chosen, operation.kind));
  run_flat(operation, call, chosen);
}

void CpuBackend::run_flat(const Operation& operation, CollectiveCall& call, Algorithm all_reduce) {
  const View& output = operation.output;
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
      all_reduce_by(all_reduce, call, output, operation.reduce, parts_.segments);
      return;
    case Operation::Kind::broadcast:
      tree_broadcast(call, output, operation.root, parts_.segments);
      return;
    case Operation::Kind::reduce_scatter:
      ring_reduce_scatter(call, operation.input, output, operation.counts, operation.reduce,
                          parts_.segments);
      return;
    case Operation::Kind::all_gather:
      gather_own_input(operation, call);
      ring_all_gather(call, output, operation.counts, parts_.segments);
      return;
    case Operation::Kind::barrier:
      Barrier(call).finish();
      return;
    case Operation::Kind::reduce:
      tree_reduce(call, output, operation.reduce, operation.root, parts_.segments);
      return;
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
    case Operation::Kind::all_to_all:
      pairwise_exchange(call, exchange_of(operation, call.rank(), call.size(), {}),
                        parts_.segments);
      return;
    case Operation::Kind::all_to_all_v: {
      const CountTable table = agree_on_counts(operation, call, [&](const Operation& counts) {
        ring_all_gather(call, counts.output, counts.counts, parts_.segments);
      });
      pairwise_exchange(call, exchange_of(operation, call.rank(), call.size(), table),
                        parts_.segments);
      return;
    }
    case Operation::Kind::all_reduce_int8:
      int8_all_reduce(call, output, operation.errors);
      return;
    case Operation::Kind::all_reduce_grouped:  // perform() turns a group into other operations
    case Operation::Kind::join:
    case Operation::Kind::message:  // needs no backend
      BP_CHECK(false, "no backend is given groups or messages");
  }
}

}  // namespace bp
