#include "launcher/plan/job_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/ssh_command.h"
#include "launcher/hosts/allocation.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/host_map.h"
#include "launcher/hosts/host_selection.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/machine.h"
#include "launcher/plan/give_gpus.h"
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
  // An editor of another system may have marked it as UTF-8.
  static constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (file.text.starts_with(kByteOrderMark)) file.text.erase(0, kByteOrderMark.size());
  return std::move(file.text);
}

// The hosts that the user named, else those of a batch system, else this machine.
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
  here.slots = options.ranks;
  return {.hosts = {here}};
}

AgentStart plan_host(const Host& host,
                     const Machine& machine,
                     bool by_srun,
                     const Options& options) {
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
  return {false, bprun, agent_command(ssh, host, bprun, options.lost_after)};
}

using Place = std::vector<PlacedHost> (*)(const Hosts&, std::optional<int>);

JobPlan plan_job(const Options& options, const std::set<std::string>& without, Place place) {
  JobPlan plan;
  plan.program = options.program.empty() ? "" : options.program.front();
  const Allocation found = find_hosts(options);
  if (!found.found_by.empty()) plan.allocation = describe(found);
  Hosts hosts = select_hosts(found.hosts, options.selection);
  std::erase_if(hosts, [&](const Host& host) { return without.contains(host.name); });
  const Machine machine = Machine::own();
  const auto is_here = [&](const Host& host) { return machine.is(host.name); };
  if (options.host_map && std::ranges::none_of(hosts, is_here)) {
    plan.notes.push_back(concat("no rank runs on this machine: ", *options.host_map,
                                " does not name it (\"localhost\": N does)"));
  }
  const auto how = [&](const Host& host) {
    return plan_host(host, machine, found.by_srun, options);
  };
  if (!options.gpus.empty()) {
    std::vector<AgentStart> all;
    std::ranges::transform(hosts, std::back_inserter(all), how);
    auto notes = give_gpus(ask_for_gpus(hosts, all, options), options.share_gpus);
    std::ranges::move(notes, std::back_inserter(plan.notes));
  }
  plan.placement = place(hosts, options.ranks);
  if (!options.share_gpus) check_one_rank_a_gpu(plan.placement);
  for (const PlacedHost& placed : plan.placement) {
    plan.hosts.push_back(how(placed.host));
  }
  if (!options.interface.empty()) {
    static_cast<void>(interface_address(options.interface));
  }
  return plan;
}

std::variant<JobPlan, EarlyExit> try_to_plan(const Options& options,
                                             const std::set<std::string>& without,
                                             Place place) {
  try {
    return plan_job(options, without, place);
  } catch (const NoInput& missing) {
    return EarlyExit{kExitNoInput, concat("bprun: ", missing.text)};
  } catch (const Error& error) {
    const bool gpu = error.code() == ErrorCode::unavailable;
    return EarlyExit{gpu ? kExitUnavailable : kExitUsage, concat("bprun: ", error.what())};
  }
}

}  // namespace

bool JobPlan::all_local() const {
  return std::all_of(hosts.begin(), hosts.end(), [](const AgentStart& host) { return host.local; });
}

std::variant<JobPlan, EarlyExit> make_plan(const Options& options) {
  auto plan = try_to_plan(options, {}, &place_ranks);
  const auto* const job = std::get_if<JobPlan>(&plan);
  if (job == nullptr) {
    return plan;
  }
  const int world = world_size(job->placement);
  if (options.min_ranks > world) {
    return EarlyExit{kExitUsage, concat("bprun: --min-ranks ", *options.min_ranks,
                                        " is more than the ", world, " ranks that the hosts hold")};
  }
  if (!options.shown_ranks.empty() && options.shown_ranks.back() >= world) {
    return EarlyExit{kExitUsage,
                     concat("bprun: --show-ranks names rank ", options.shown_ranks.back(),
                            ", but the ranks of this job are 0 to ", world - 1)};
  }
  return plan;
}

std::variant<JobPlan, EarlyExit> make_plan_without(const Options& options,
                                                   const std::set<std::string>& without) {
  return try_to_plan(options, without, &place_what_fits);
}

}  // namespace bp::launcher
