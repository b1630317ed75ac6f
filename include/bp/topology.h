// On which host each rank is. Ranks are numbered host by host, so a list of local sizes describes a
// topology. Hosts may have different numbers of ranks, as in {3, 1}.
#pragma once

#include <string>
#include <vector>

#include "bp/export.h"

namespace BP_API bp {

struct Topology {
  struct Place {
    int host = 0;        // index into local_sizes
    int local_rank = 0;  // 0 is the host's leader
  };

  int rank = 0;
  std::vector<int> local_sizes = {1};   // ranks on each host, in rank order; their sum is size()
  std::vector<std::string> host_names;  // empty, or one per host: for messages only

  [[nodiscard]] int size() const;
  [[nodiscard]] int hosts() const { return static_cast<int>(local_sizes.size()); }
  [[nodiscard]] Place place_of(int other) const;  // throws invalid_argument outside 0..size()-1
  [[nodiscard]] int host() const { return place_of(rank).host; }
  [[nodiscard]] int local_rank() const { return place_of(rank).local_rank; }
  [[nodiscard]] int local_size() const { return local_sizes[static_cast<std::size_t>(host())]; }
  [[nodiscard]] int leader_of(int host) const;  // the lowest rank on that host
  [[nodiscard]] bool same_host(int a, int b) const { return place_of(a).host == place_of(b).host; }
  [[nodiscard]] std::string host_name(int host) const;  // its name, or "host 1" without one
};

// "3,1" to {3, 1}; throws invalid_argument naming the bad field.
[[nodiscard]] std::vector<int> parse_local_sizes(const std::string& text);

}  // namespace bp
