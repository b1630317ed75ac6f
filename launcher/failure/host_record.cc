#include "launcher/failure/host_record.h"

#include "base/text.h"

namespace bp::launcher {

void HostRecord::failed(const std::vector<std::string>& hosts, const std::string& why) {
  for (const std::string& name : hosts) {
    ++hosts_[name].failures;
    hosts_[name].why = why;
  }
}

bool HostRecord::not_reached(const std::vector<std::string>& hosts, const std::string& why) {
  bool news = false;
  for (const std::string& name : hosts) {
    Host& host = hosts_[name];
    news |= !host.out_of_reach;
    host.out_of_reach = true;
    host.why = why;
  }
  return news;
}

void HostRecord::look_again() {
  for (auto& [name, host] : hosts_) {
    host.out_of_reach = false;
  }
}

std::set<std::string> HostRecord::out_of_reach() const {
  std::set<std::string> names;
  for (const auto& [name, host] : hosts_) {
    if (host.out_of_reach) names.insert(name);
  }
  return names;
}

std::set<std::string> HostRecord::failed_too_often() const {
  std::set<std::string> names;
  for (const auto& [name, host] : hosts_) {
    if (host.failures > kFailuresAllowed) names.insert(name);
  }
  return names;
}

std::string HostRecord::trouble(const std::string& host) const {
  const Host& record = hosts_.at(host);
  return concat(record.out_of_reach ? std::string("is out of reach")
                                    : concat("has failed ", record.failures, " times"),
                " (", record.why, ")");
}

}  // namespace bp::launcher
