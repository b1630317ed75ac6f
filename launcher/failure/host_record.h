// How the hosts of a job that begins anew have behaved, and so which of them take part. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace bp::launcher {

class HostRecord {
 public:
  static constexpr int kFailuresAllowed = 1;  // a host that fails once more is left out

  // The ranks ran until one of these hosts was lost, or a rank on it failed.
  void failed(const std::vector<std::string>& hosts, const std::string& why);
  // They could not be reached when the ranks were to be started. That is no failure of its own: a
  // host that was lost is out of reach for a while. False if all were known to be.
  bool not_reached(const std::vector<std::string>& hosts, const std::string& why);
  // Hosts that were out of reach may have come back.
  void look_again();

  [[nodiscard]] std::set<std::string> out_of_reach() const;
  [[nodiscard]] std::set<std::string> failed_too_often() const;
  // "is out of reach (...)", "has failed 2 times (...)": what is in the brackets came last.
  [[nodiscard]] std::string trouble(const std::string& host) const;

 private:
  struct Host {
    int failures = 0;
    bool out_of_reach = false;
    std::string why;  // of what happened last
  };
  std::map<std::string, Host> hosts_;
};

}  // namespace bp::launcher
