// The hosts of a job as the user named them. Their order determines the ranks.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bp::launcher {

struct Host {
  std::string name;          // as the user wrote it; IPv6 without brackets
  std::optional<int> slots;  // unset: one per GPU in `gpus`, or 1
  std::optional<int> max_slots;
  std::optional<std::vector<int>> gpus;  // unset: all GPUs of the host
  std::string interface;                 // empty: the one that routes to the other hosts
  std::optional<int> port;               // ssh's port; unset: ssh's default
  std::string user;                      // ssh's user; empty: ssh's default
  std::optional<int> component;          // of a heterogeneous Slurm job, for srun
  std::optional<double> weight;          // of a rank's share of the work; unset: 1

  // Returns the number of ranks that run here unless more are requested: slots, else the number of
  // listed GPUs, else 1.
  [[nodiscard]] int capacity() const;
};

using Hosts = std::vector<Host>;

// The largest number of hosts, in whatever short form they are written.
inline constexpr std::size_t kMostHosts = 65536;

// Both functions throw invalid_argument with `where` before the text. check_host_name() refuses a
// name that ssh or a shell could misread.
void check_host_name(const std::string& name, const std::string& where);
[[nodiscard]] int parse_number(const std::string& text,
                               const std::string& what,
                               int least,
                               int most,
                               const std::string& where);

// Collects hosts in order and refuses duplicates.
class HostCollector {
 public:
  void add(Host host, const std::string& where);  // throws if it has one of that name
  [[nodiscard]] Hosts take() { return std::move(hosts_); }

 private:
  Hosts hosts_;
  std::set<std::string> names_;
};

inline constexpr int kMaxSlots = 4096;

}  // namespace bp::launcher
