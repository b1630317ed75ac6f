// The slots of the hosts of a sweep, and which of them trials hold.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/sweep/placement/trial_placement.h"

namespace bp::launcher::sweep {

class Pool {
 public:
  // Which slots a trial holds: parts[i] has the slots with the numbers numbers[i].
  struct Lease {
    std::vector<Part> parts = {};
    std::vector<std::vector<int>> numbers = {};
  };

  explicit Pool(const Hosts& hosts);

  [[nodiscard]] std::size_t size() const { return hosts_.size(); }
  [[nodiscard]] const Host& host(std::size_t i) const { return hosts_[i].host; }
  [[nodiscard]] int slots(std::size_t i) const { return static_cast<int>(hosts_[i].taken.size()); }
  [[nodiscard]] int all_slots() const;
  [[nodiscard]] bool present(std::size_t i) const { return hosts_[i].present; }
  void set_present(std::size_t i, bool present) { hosts_[i].present = present; }
  void set_cores(std::size_t i, int cores) { hosts_[i].cores = cores; }

  // For starts(): hosts that are lost have no slots.
  [[nodiscard]] std::vector<HostSlots> view() const;
  // The same as if all hosts were present and free.
  [[nodiscard]] std::vector<HostSlots> view_of_all() const;

  Lease take(const std::vector<Part>& parts);
  void give_back(const Lease& lease);

  // The lease in the notation of bprun's -H, with the GPUs of the slots where the host lists one
  // for each slot. The sweep's connection knows port and user, so they are left out.
  [[nodiscard]] std::string host_list(const Lease& lease) const;
  [[nodiscard]] std::string shown(const Lease& lease) const;  // "a:2,b:1"
  // The threads of each rank, so that a host whose slots are all taken has as many as cores; 0 if
  // no host of the lease has said how many it has.
  [[nodiscard]] int threads(const Lease& lease) const;

 private:
  struct Entry {
    Host host;
    std::vector<bool> taken;  // by slot
    bool present = true;
    int cores = 0;
  };
  std::vector<Entry> hosts_;
};

}  // namespace bp::launcher::sweep
