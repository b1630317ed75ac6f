#include "launcher/plan/job_settings.h"

#include <sys/stat.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/launch_command.h"
#include "base/shell_word.h"
#include "base/system/loopback.h"
#include "base/terminal_columns.h"
#include "base/text.h"
#include "launcher/hosts/machine.h"
#include "launcher/plan/rank_environment.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/limits.h"
#include "launcher/process/signals.h"

namespace bp::launcher {
namespace {

std::uint32_t current_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

// The address at which rank 0's host listens for a program's own rendezvous.
std::string address_of_first(const KnownHosts& hosts, const StoreAddress& store) {
  if (const std::string& found = hosts.addresses.front(); !found.empty()) {
    return found;
  }
  if (hosts.plan.hosts.front().local) {
    return store.host;
  }
  const std::string& seen = hosts.hellos.front().server_address;
  return seen.empty() ? hosts.plan.placement.front().host.name : seen;
}

std::vector<int> threads_by_host(const KnownHosts& hosts) {
  std::vector<HostCores> cores;
  for (std::size_t host = 0; host < hosts.hellos.size(); ++host) {
    const Hello& hello = hosts.hellos[host];
    cores.push_back({.machine = hello.machine,
                     .cores = hello.cores,
                     .ranks = hosts.plan.placement[host].ranks});
  }
  return threads_per_rank(cores);
}

// The user's variables, and as absolute paths the folders that options name: a program may change
// its working directory before it writes there.
std::vector<std::string> environment_for(const AgentStart& start, const Options& options) {
  auto environment =
      sent_environment(own_environment(),
                       {.whole = start.local || options.whole_environment, .joined = start.joined},
                       options.environment);
  const auto pass_folder = [&environment](std::string_view variable, const std::string& folder) {
    if (!folder.empty()) {
      environment =
          merged_environment(std::move(environment),
                             {concat(variable, "=", std::filesystem::absolute(folder).string())});
    }
  };
  pass_folder("BP_OUTPUT", options.output);
  pass_folder("BP_TRACE", options.trace);
  return environment;
}

// For a program that prints the command line that resumes it.
void pass_command(const Options& options, std::vector<std::string>& environment) {
  constexpr std::size_t kLongest = std::size_t{64} << 10;  // the kernel takes twice as much
  std::vector<std::string> words = options.own;
  words.insert(words.end(), options.program.begin(), options.program.end());
  if (const std::string command = quote_shell_words(words); command.size() < kLongest) {
    environment.push_back(concat(kLaunchCommand, "=", command));
  }
}

JobSpec spec_for(const AgentStart& start, const Options& options, const JobSettings& settings) {
  JobSpec spec;
  spec.job = settings.job;
  spec.argv = options.program;
  spec.umask = current_umask();
  spec.whole_environment = start.local;
  spec.environment = environment_for(start, options);
  if (!start.joined) {  // an agent that joined uses its own
    spec.key = settings.key;
    spec.directory = std::filesystem::current_path().string();
    spec.limits = travelling_limits();
    spec.ignored_signals = ignored_signals();
  }
  return spec;
}

}  // namespace

std::string address_of_launcher(const KnownHosts& hosts, const std::string& interface) {
  if (const std::string& found = hosts.addresses.back(); !found.empty()) {
    return found;
  }
  if (!interface.empty()) {
    return interface_address(interface);
  }
  std::string best;
  for (std::size_t host = 0; host < hosts.hellos.size(); ++host) {
    if (hosts.plan.hosts[host].local) {
      continue;
    }
    const std::string& seen = hosts.hellos[host].client_address;
    const std::string address =
        seen.empty() ? address_towards(hosts.plan.placement[host].host.name) : seen;
    if (!address.empty() && (best.empty() || is_loopback(best))) {
      best = address;
    }
  }
  return best.empty() ? loopback_address() : best;
}

std::vector<JobSpec> make_job_specs(const KnownHosts& hosts,
                                    const Options& options,
                                    const JobSettings& settings) {
  const std::vector<PlacedHost>& placement = hosts.plan.placement;
  const JobVariables variables{.store = settings.store,
                               .master_address = address_of_first(hosts, settings.store),
                               .master_port = hosts.hellos.front().free_port,
                               .generation = settings.generation};
  const std::vector<int> threads = threads_by_host(hosts);
  std::vector<JobSpec> specs;
  for (std::size_t host = 0; host < placement.size(); ++host) {
    JobSpec& spec = specs.emplace_back(spec_for(hosts.plan.hosts[host], options, settings));
    spec.host = static_cast<std::int32_t>(host);
    if (!hosts.plan.hosts[host].local) {
      spec.store = settings.store;
    }
    spec.defaults = {concat("OMP_NUM_THREADS=", threads[host])};
    if (const std::string& address = hosts.addresses[host]; !address.empty()) {
      spec.defaults.push_back(concat("BP_INTERFACE=", address));
    }
    const PlacedHost& placed = placement[host];
    for (int rank = placed.first_rank; rank < placed.first_rank + placed.ranks; ++rank) {
      spec.ranks.push_back({rank, rank_variables(placement, rank, variables)});
    }
    if (placed.first_rank == 0) {
      spec.ranks.front().environment.push_back(
          concat(kTerminalColumns, "=", settings.live_columns));
      pass_command(options, spec.ranks.front().environment);
    }
  }
  return specs;
}

}  // namespace bp::launcher
