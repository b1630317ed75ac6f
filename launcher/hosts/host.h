// The hosts of a job as the user named them, in the order that numbers the ranks.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bp::launcher {

struct Host {
  std::string name;          // as typed; IPv6 without brackets
  std::optional<int> slots;  // unset: one for each GPU, or 1 where none is known
  std::optional<int> max_slots;
  std::optional<std::vector<int>> gpus;  // unset: all there are
  std::string interface;                 // empty: whatever routes to the others
  std::optional<int> port;               // ssh's, where it is not the default
  std::string user;                      // likewise

  // Ranks that fit without being asked for more: slots, else GPUs, else 1.
  [[nodiscard]] int capacity() const;
};

using Hosts = std::vector<Host>;

// More hosts than this are refused, whatever short form they come in.
inline constexpr std::size_t kMostHosts = 65536;

// All throw invalid_argument with `where` before the text.
// A name is refused when ssh or a shell could take it for something else.
void check_host_name(const std::string& name, const std::string& where);
[[nodiscard]] int parse_number(const std::string& text,
                               const std::string& what,
                               int least,
                               int most,
                               const std::string& where);

// Hosts in order, each once.
class HostCollector {
 public:
  void add(Host host, const std::string& where);  // refuses a second of that name
  [[nodiscard]] Hosts take() { return std::move(hosts_); }

 private:
  Hosts hosts_;
  std::set<std::string> names_;
};

inline constexpr int kMaxSlots = 4096;

}  // namespace bp::launcher
