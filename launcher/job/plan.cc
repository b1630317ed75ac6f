#include "launcher/job/plan.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "bp/error.h"
#include "comm/base/text.h"
#include "launcher/agent/hello.h"
#include "launcher/agent/ssh_command.h"
#include "launcher/hosts/allocation.h"
#include "launcher/hosts/host_list.h"
#include "launcher/hosts/host_map.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/machine.h"
#include "launcher/job/rank_environment.h"
#include "launcher/process/program.h"
#include "launcher/process/read_file.h"
#include "launcher/process/shell_words.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

struct NoInput {
  std::string text;
};

std::string read_text(const std::string& path, const char* option) {
  FileText file = read_file(path);
  if (file.error != 0) {
    throw NoInput{concat(option, " ", path, ": ", error_text(file.error))};
  }
  return std::move(file.text);
}

// What the user named, else what a batch system gave, else this machine.
Allocation find_hosts(const Options& options) {
  if (options.host_list) {
    return {.hosts = parse_host_list(*options.host_list)};
  }
  if (options.hostfile) {
    return {.hosts = parse_hostfile(read_text(*options.hostfile, "--hostfile"), *options.hostfile)};
  }
  if (options.host_map) {
    return {.hosts = parse_host_map(read_text(*options.host_map, "--hosts"), *options.host_map)};
  }
  if (auto allocation = find_allocation(Variables::of_this_process())) {
    return std::move(*allocation);
  }
  Host here;
  here.name = "localhost";
  here.slots = options.ranks.value_or(1);
  return {.hosts = {here}};
}

HostPlan plan_host(const Host& host, const Machine& machine, bool by_srun, const Options& options) {
  const std::string self = own_program();
  if (machine.is(host.name)) {
    return {true, self, {self, "--agent"}};
  }
  const std::string& bprun = options.remote_bprun.empty() ? self : options.remote_bprun;
  if (by_srun && options.ssh == Options().ssh) {
    return {false, bprun, srun_command(host, bprun), true};
  }
  const auto ssh = split_shell_words(options.ssh);
  if (ssh.empty()) {
    throw Error(ErrorCode::invalid_argument, "--ssh is empty");
  }
  return {false, bprun, agent_command(ssh, host, bprun)};
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += concat(text.empty() ? "" : " ", quote_shell_word(word));
  }
  return text;
}

using Place = std::function<std::vector<PlacedHost>(Hosts)>;

std::variant<JobPlan, EarlyExit> plan_job(const Options& options, const Place& place) {
  try {
    JobPlan plan;
    plan.program = options.program.empty() ? "" : options.program.front();
    const Allocation found = find_hosts(options);
    if (!found.found_by.empty()) plan.allocation = describe(found);
    plan.placement = place(select_hosts(found.hosts, options.selection));
    const Machine machine = Machine::own();
    for (const PlacedHost& placed : plan.placement) {
      plan.hosts.push_back(plan_host(placed.host, machine, found.by_srun, options));
    }
    if (!options.interface.empty()) {
      static_cast<void>(interface_address(options.interface));
    }
    return plan;
  } catch (const NoInput& missing) {
    return EarlyExit{kExitNoInput, concat("bprun: ", missing.text)};
  } catch (const Error& error) {
    return EarlyExit{kExitUsage, concat("bprun: ", error.what())};
  }
}

}  // namespace

bool JobPlan::all_local() const {
  return std::all_of(hosts.begin(), hosts.end(), [](const HostPlan& host) { return host.local; });
}

std::variant<JobPlan, EarlyExit> make_plan(const Options& options) {
  auto plan = plan_job(
      options, [&options](const Hosts& hosts) { return place_ranks(hosts, options.ranks); });
  if (const auto* job = std::get_if<JobPlan>(&plan);
      job != nullptr && options.min_ranks > world_size(job->placement)) {
    return EarlyExit{kExitUsage,
                     concat("bprun: --min-ranks ", *options.min_ranks, " is more than the ",
                            world_size(job->placement), " ranks that the hosts hold")};
  }
  return plan;
}

std::variant<JobPlan, EarlyExit> make_plan_without(const Options& options,
                                                   const std::set<std::string>& without) {
  return plan_job(options, [&](Hosts hosts) {
    std::erase_if(hosts, [&](const Host& host) { return without.contains(host.name); });
    return place_what_fits(hosts, options.ranks);
  });
}

std::string describe_plan(const JobPlan& plan, const Options& options) {
  std::string text = concat("program: ", joined_words(options.program), "\n");
  if (!plan.allocation.empty()) text += concat("allocation: ", plan.allocation, "\n");
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    const PlacedHost& placed = plan.placement[i];
    text += concat("host ", i, ": ", placed.host.name, ", ranks ", placed.first_rank, "-",
                   placed.first_rank + placed.ranks - 1, ", ",
                   plan.hosts[i].local  ? "this machine"
                   : plan.hosts[i].srun ? "by srun"
                                        : "by ssh",
                   "\n  ", joined_words(plan.hosts[i].command), "\n");
  }
  for (int rank = 0; rank < world_size(plan.placement); ++rank) {
    text += concat("rank ", rank, ":");
    const JobVariables later{{"ADDRESS", options.store_port}, "ADDRESS", 0};
    for (const std::string& entry : rank_variables(plan.placement, rank, later)) {
      text += concat(" ", quote_shell_word(entry));
    }
    text += "\n";
  }
  return text;
}

}  // namespace bp::launcher
