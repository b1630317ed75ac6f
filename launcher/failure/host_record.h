// Records what has happened on each host of a job that restarts, and so decides which hosts take
// part. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace bp::launcher {

class HostRecord {
 public:
  static constexpr int kFailuresAllowed = 1;  // a host with more failures is left out

  // A generation ended because these hosts were lost, or because a rank on one of them failed.
  void failed(const std::vector<std::string>& hosts, const std::string& why);
  // These hosts could not be reached before any rank started. This does not count as a failure, as
  // a lost host is out of reach for a while. Returns false if all were known to be out of reach.
  bool not_reached(const std::vector<std::string>& hosts, const std::string& why);
  // Forgets which hosts are out of reach: they may be back.
  void look_again();

  [[nodiscard]] std::set<std::string> out_of_reach() const;
  [[nodiscard]] std::set<std::string> failed_too_often() const;
  // "is out of reach (...)", "has failed 2 times (...)", with the last problem in brackets.
  [[nodiscard]] std::string trouble(const std::string& host) const;

 private:
  struct Host {
    int failures = 0;
    bool out_of_reach = false;
    std::string why;  // the last problem
  };
  std::map<std::string, Host> hosts_;
};

}  // namespace bp::launcher
