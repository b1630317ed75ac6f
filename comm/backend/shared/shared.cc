#include "comm/backend/shared/shared.h"

#include <utility>

#include "base/check.h"
#include "comm/backend/network/algorithms.h"
#include "comm/backend/network/exchange.h"
#include "comm/backend/shared/shared_algorithms.h"

namespace bp {

SharedBackend::SharedBackend(std::shared_ptr<SharedHost> host,
                             std::vector<PhaseBarrier::Location> channels,
                             int rank,
                             std::size_t chunk)
    : vectors_(std::move(host), std::move(channels), rank, chunk) {}

void SharedBackend::exchange(const Operation& operation,
                             CollectiveCall& call,
                             const CountTable& table) {
  exchange_.fill(operation, vectors_.rank(), vectors_.size(), table);
  shared_exchange(vectors_, call, exchange_, operation.input.bytes());
}

void SharedBackend::run(const Operation& operation, CollectiveCall& call) {
  const View& output = operation.output;
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
      shared_all_reduce(vectors_, call, output, operation.reduce);
      return;
    case Operation::Kind::broadcast:
      shared_broadcast(vectors_, call, output, operation.root);
      return;
    case Operation::Kind::reduce_scatter:
      shared_reduce_scatter(vectors_, call, operation.input, output, operation.counts,
                            operation.reduce);
      return;
    case Operation::Kind::all_gather:
      shared_all_gather(vectors_, call, operation.input, output, operation.counts);
      return;
    case Operation::Kind::barrier:
      call.use(algorithm_of(operation.kind, 0));
      vectors_.pass_barrier(call);
      return;
    case Operation::Kind::reduce:
      shared_reduce(vectors_, call, output, operation.reduce, operation.root);
      return;
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
    case Operation::Kind::all_to_all:
      exchange(operation, call, {});
      return;
    case Operation::Kind::all_to_all_v:
      exchange(operation, call, agree_on_counts(operation, call, [&](const Operation& counts) {
                 shared_all_gather(vectors_, call, counts.input, counts.output, counts.counts);
               }));
      return;
    case Operation::Kind::all_reduce_grouped:  // perform() turns a group into other operations
    case Operation::Kind::all_reduce_int8:     // between hosts only
    case Operation::Kind::join:
    case Operation::Kind::message:  // needs no backend
      BP_CHECK(false, "no backend of one host is given groups, int8 or messages");
  }
}

}  // namespace bp
