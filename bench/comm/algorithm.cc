#include "bench/comm/algorithm.h"

#include "comm/engine/impl.h"

namespace bp::bench {
namespace {

Operation::Kind kind_named(const std::string& op) {
  auto kind = Operation::Kind::all_reduce;
  while (name_of(kind) != op) kind = static_cast<Operation::Kind>(static_cast<int>(kind) + 1);
  return kind;
}

}  // namespace

std::string algorithm_used(const Communicator& comm, const std::string& op, std::size_t bytes) {
  const Backend& backend = *comm.impl().engine().setup().backend;
  return std::string(backend.algorithm_of(kind_named(op), bytes));
}

}  // namespace bp::bench
