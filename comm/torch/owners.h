// The ranks that divide work, each of which owns a part, and those of them on this rank's host,
// which share memory. A rank that shares none, as on a device, counts as a host of its own. Needs
// no LibTorch.
#pragma once

#include <optional>
#include <vector>

#include "bp/communicator.h"
#include "bp/topology.h"

namespace bp {

class Owners {
 public:
  // All ranks divide work if `across_hosts`, else those of each host, each time all of it, in
  // proportion to the `shares` of the ranks of the world; empty: equal ones. `topology`: of the
  // ranks that share memory (memory_topology()). `world` must outlive this object.
  Owners(Communicator& world,
         Topology topology,
         bool across_hosts,
         const std::vector<double>& shares);

  [[nodiscard]] int world_rank() const { return world_.rank(); }
  [[nodiscard]] bool are_all() const { return are_all_; }
  [[nodiscard]] int rank() const { return are_all_ ? world_.rank() : local_rank(); }
  [[nodiscard]] int size() const { return are_all_ ? world_.size() : topology_.local_size(); }
  [[nodiscard]] const std::vector<double>& shares() const { return shares_; }
  [[nodiscard]] bool are_on_several_hosts() const { return are_all_ && hosts() > 1; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] int hosts() const { return topology_.hosts(); }
  [[nodiscard]] int host() const { return topology_.host(); }
  [[nodiscard]] int host_of(int owner) const { return topology_.place_of(owner).host; }
  [[nodiscard]] int local_rank() const { return topology_.local_rank(); }

  // Collective of all ranks. Before the calls below.
  void connect();
  [[nodiscard]] Communicator& comm() { return are_all_ ? world_ : local(); }
  [[nodiscard]] Communicator& local() { return group_ ? *group_ : world_; }
  // The first rank of each host. Null on another rank, and with one host.
  [[nodiscard]] Communicator* leaders() {
    return local_rank() == 0 && leaders_ ? &*leaders_ : nullptr;
  }

 private:
  Communicator& world_;
  const Topology topology_;
  bool are_all_;
  std::vector<double> shares_;           // by owner
  std::optional<Communicator> group_;    // of several hosts
  std::optional<Communicator> leaders_;  // of several hosts: their first ranks
};

}  // namespace bp
