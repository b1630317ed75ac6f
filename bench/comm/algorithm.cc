#include "bench/comm/algorithm.h"

#include "comm/backend/cpu.h"

namespace bp::bench {

std::string algorithm_used(const Communicator& comm,
                           const std::string& op,
                           const std::string& asked,
                           std::size_t bytes) {
  if (comm.size() == 1) return "none";
  if (comm.backend().starts_with("gloo-native")) return "native";
  if (op == "message") return "send_receive";
  if (comm.backend() == "shm") return "direct";
  if (op == "broadcast" || op == "reduce") return "binomial_tree";
  if (op == "gather" || op == "scatter" || op.starts_with("all_to_all")) return "pairwise";
  if (op == "barrier") return "dissemination";
  if (op != "all_reduce") return "ring";
  return std::string(name_of(choose_all_reduce(parse_algorithm(asked), bytes, comm.size())));
}

}  // namespace bp::bench
