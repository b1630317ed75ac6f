#include "launcher/plan/one_machine.h"

#include <map>
#include <utility>

#include "base/text.h"

namespace bp::launcher {
namespace {

struct OneMachine {
  std::string names;
  int hosts = 0;
  bool by_ssh = false;
};

}  // namespace

std::vector<std::string> names_of_one_machine(const std::vector<GreetedHost>& hosts) {
  std::map<std::pair<std::string, std::string>, OneMachine> machines;
  for (const GreetedHost& host : hosts) {
    if (host.start.joined || host.start.srun) continue;
    OneMachine& machine = machines[{host.hello.machine, host.hello.host_name}];
    machine.names += concat(machine.hosts++ == 0 ? "" : ", ", host.name);
    machine.by_ssh |= !host.start.local && !host.hello.server_address.empty();
  }
  std::vector<std::string> lines;
  for (const auto& [key, machine] : machines) {
    if (machine.hosts < 2 || !machine.by_ssh) continue;
    lines.push_back(concat(machine.names, " are one machine (", key.second, ")"));
  }
  return lines;
}

}  // namespace bp::launcher
