#include "comm/backend/cpu.h"

#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "base/check.h"
#include "comm/backend/network/algorithms.h"
#include "comm/backend/network/exchange.h"

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

std::string name_with_memory(const CpuSetup& setup) {
  return setup.shares_memory ? setup.transport + "+shm" : setup.transport;
}

SelectionKey key_of(const CpuSetup& setup) {
  const std::vector<int>& sizes = setup.local_sizes;
  return {.backend = name_with_memory(setup),
          .ranks = std::accumulate(sizes.begin(), sizes.end(), 0),
          .hosts = static_cast<int>(sizes.size())};
}

// Returns the key of the communication between hosts, with one rank of each.
SelectionKey key_of_leaders(const CpuSetup& setup) {
  const auto hosts = static_cast<int>(setup.local_sizes.size());
  return {.backend = setup.transport, .ranks = hosts, .hosts = hosts};
}

}  // namespace

CpuBackend::CpuBackend(CpuSetup setup, std::unique_ptr<SharedBackend> inside)
    : setup_(std::move(setup)),
      name_(name_with_memory(setup_)),
      selection_(key_of(setup_), setup_.measured),
      between_hosts_(key_of_leaders(setup_), setup_.measured),
      inside_(std::move(inside)) {}

Algorithm CpuBackend::all_reduce_algorithm(std::size_t bytes) const {
  return setup_.algorithm == Algorithm::automatic ? selection_.all_reduce(bytes) : setup_.algorithm;
}

std::string_view CpuBackend::algorithm_of(Operation::Kind kind, std::size_t bytes) const {
  switch (kind) {
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_reduce_grouped:
      return name_of(all_reduce_algorithm(bytes));
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
    case Operation::Kind::message:  // needs no backend
    case Operation::Kind::join:
      break;
  }
  return "unknown";
}

void CpuBackend::run(const Operation& operation, CollectiveCall& call) {
  const View& output = operation.output;
  call.use(algorithm_of(operation.kind, output.bytes()));
  switch (operation.kind) {
    case Operation::Kind::all_reduce: {
      const Algorithm algorithm = all_reduce_algorithm(output.bytes());
      if (algorithm == Algorithm::hierarchical) {
        hierarchical_all_reduce(call, output, operation.reduce);
      } else {
        all_reduce_by(algorithm, call, output, operation.reduce, setup_.limits);
      }
      return;
    }
    case Operation::Kind::broadcast:
      tree_broadcast(call, output, operation.root, setup_.limits);
      return;
    case Operation::Kind::reduce_scatter:
      ring_reduce_scatter(call, operation.input, output, operation.counts, operation.reduce,
                          setup_.limits);
      return;
    case Operation::Kind::all_gather:
      gather_own_input(operation, call);
      ring_all_gather(call, output, operation.counts, setup_.limits);
      return;
    case Operation::Kind::barrier:
      Barrier(call).finish();
      return;
    case Operation::Kind::reduce:
      tree_reduce(call, output, operation.reduce, operation.root, setup_.limits);
      return;
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
    case Operation::Kind::all_to_all:
      pairwise_exchange(call, exchange_of(operation, call.rank(), call.size(), {}), setup_.limits);
      return;
    case Operation::Kind::all_to_all_v: {
      const CountTable table = agree_on_counts(operation, call, [&](const Operation& counts) {
        ring_all_gather(call, counts.output, counts.counts, setup_.limits);
      });
      pairwise_exchange(call, exchange_of(operation, call.rank(), call.size(), table),
                        setup_.limits);
      return;
    }
    case Operation::Kind::all_reduce_grouped:  // perform() turns a group into other operations
    case Operation::Kind::join:
    case Operation::Kind::message:  // needs no backend
      BP_CHECK(false, "no backend is given groups or messages");
  }
}

}  // namespace bp
