#include "launcher/hosts/allocation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>
#include <vector>

#include "base/system/regular_file.h"
#include "base/text.h"
#include "comm/topology/launcher.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/nodelist.h"

namespace bp::launcher {
namespace {

std::string text_of_file(const Variables& variables, const std::string& variable) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // hundreds of thousands of hosts
  FileContent file = read_whole(open_regular_file(variables.text(variable)), kMostBytes);
  if (!file.problem.empty()) variables.refuse(variable, file.problem);
  return std::move(file.text);
}

// Adds slots to the host of that name, which it appends if it is new.
void add_slots(Hosts& hosts, const std::string& name, int slots, const std::string& where) {
  const auto same = [&](const Host& host) { return host.name == name; };
  const auto known = std::find_if(hosts.begin(), hosts.end(), same);
  if (known != hosts.end()) {
    known->slots = *known->slots + slots;
    return;
  }
  check_host_name(name, where);
  Host host;
  host.name = name;
  host.slots = slots;
  hosts.push_back(std::move(host));
}

// Returns one count per host; empty if the variable is not set.
std::vector<int> counts_of(const Variables& variables,
                           const std::string& name,
                           const std::string& sign,
                           std::size_t hosts) {
  if (!variables.has(name)) return {};
  std::vector<int> counts = parse_node_counts(variables.text(name), name);
  if (counts.size() != hosts) {
    variables.refuse(name,
                     concat("counts for ", counts.size(), " hosts, but ", sign, " names ", hosts));
  }
  return counts;
}

// The variables of a component of a heterogeneous job end with `suffix`. A host has one slot per
// task. With -n it may run as many ranks as it has CPUs.
Hosts hosts_of_component(const Variables& variables, const std::string& suffix) {
  const std::string sign = "SLURM_JOB_NODELIST" + suffix;
  if (!variables.has(sign)) {
    variables.refuse("SLURM_HET_SIZE", concat("names a job with several components, but ", sign,
                                              " is not set; name the hosts with -H"));
  }
  HostCollector named;
  for (std::string& name : parse_nodelist(variables.text(sign), sign)) {
    Host host;
    host.name = std::move(name);
    named.add(std::move(host), sign);
  }
  Hosts hosts = named.take();
  const auto tasks = counts_of(variables, "SLURM_TASKS_PER_NODE" + suffix, sign, hosts.size());
  const auto cpus = counts_of(variables, "SLURM_JOB_CPUS_PER_NODE" + suffix, sign, hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].slots = tasks.empty() ? 1 : tasks[i];
    if (!cpus.empty()) hosts[i].max_slots = std::max(cpus[i], *hosts[i].slots);
  }
  return hosts;
}

// A host that two components have is reached through the first of them.
void add_component(Hosts& all, Hosts component) {
  for (Host& host : component) {
    const auto known = std::ranges::find(all, host.name, &Host::name);
    if (known == all.end()) {
      all.push_back(std::move(host));
      continue;
    }
    known->slots = *known->slots + *host.slots;
    if (known->max_slots && host.max_slots) *known->max_slots += *host.max_slots;
  }
}

Hosts hosts_of_slurm(const Variables& variables, const std::string& /*sign*/) {
  return hosts_of_component(variables, "");
}

Hosts hosts_of_all_components(const Variables& variables, const std::string& sign) {
  constexpr int kMostComponents = 1024;
  const int size = parse_number(variables.text(sign), "the components", 1, kMostComponents, sign);
  Hosts all;
  for (int i = 0; i < size; ++i) {
    Hosts component = hosts_of_component(variables, concat("_HET_GROUP_", i));
    for (Host& host : component) host.component = i;
    add_component(all, std::move(component));
  }
  return all;
}

// The file has one line per slot.
Hosts hosts_of_pbs(const Variables& variables, const std::string& sign) {
  Hosts hosts;
  std::istringstream words(text_of_file(variables, sign));
  for (std::string name; words >> name;) add_slots(hosts, name, 1, sign);
  return hosts;
}

// The variable holds "h1 4 h2 2".
Hosts hosts_of_lsf(const Variables& variables, const std::string& sign) {
  Hosts hosts;
  std::istringstream words(variables.text(sign));
  for (std::string name, slots; words >> name;) {
    slots.clear();
    words >> slots;
    add_slots(hosts, name, parse_number(slots, concat("the slots of ", name), 1, kMaxSlots, sign),
              sign);
  }
  return hosts;
}

// A line of the file is "h2 2 all.q@h2 UNDEFINED".
Hosts hosts_of_sge(const Variables& variables, const std::string& sign) {
  Hosts hosts;
  std::istringstream lines(text_of_file(variables, sign));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string slots;
    if (!(words >> name)) continue;
    words >> slots;
    add_slots(hosts, name, parse_number(slots, concat("the slots of ", name), 1, kMaxSlots, sign),
              sign);
  }
  return hosts;
}

// The file has "name slots=N" for Open MPI and "name:N" for the others.
Hosts hosts_of_operator(const Variables& variables, const std::string& sign) {
  std::string text = text_of_file(variables, sign);
  if (sign == "OMPI_MCA_orte_default_hostfile") return parse_hostfile(text, variables.text(sign));
  Hosts hosts;
  std::istringstream words(text);
  for (std::string entry; words >> entry;) {
    const std::size_t colon = entry.find(':');
    const std::string name = entry.substr(0, colon);
    const std::string slots = colon == std::string::npos ? "1" : entry.substr(colon + 1);
    add_slots(hosts, name, parse_number(slots, concat("the slots of ", name), 1, kMaxSlots, sign),
              sign);
  }
  return hosts;
}

struct System {
  const char* sign;
  Hosts (*hosts)(const Variables& variables, const std::string& sign);
};

constexpr std::array kSystems = {
    System{"SLURM_HET_SIZE", hosts_of_all_components},  // salloc sets no SLURM_JOB_NODELIST then
    System{"SLURM_JOB_NODELIST", hosts_of_slurm},
    System{"PBS_NODEFILE", hosts_of_pbs},
    System{"LSB_MCPU_HOSTS", hosts_of_lsf},
    System{"PE_HOSTFILE", hosts_of_sge},
    System{"OMPI_MCA_orte_default_hostfile", hosts_of_operator},
    System{"I_MPI_HYDRA_HOST_FILE", hosts_of_operator},
    System{"HYDRA_HOST_FILE", hosts_of_operator},
};

}  // namespace

std::optional<Allocation> find_allocation(const Variables& variables) {
  if (variables.text("BP_ENGINE") == "none") return std::nullopt;
  for (const System& system : kSystems) {
    if (!variables.has(system.sign)) continue;
    const bool slurm = system.hosts == hosts_of_slurm || system.hosts == hosts_of_all_components;
    if (slurm && in_slurm_step(variables)) continue;
    // A user may set these variables for mpirun. The operator sets K_MPI_JOB_ROLE in the pod of its
    // launcher.
    if (system.hosts == hosts_of_operator && variables.text("K_MPI_JOB_ROLE") != "launcher") {
      continue;
    }
    Allocation found;
    found.found_by = concat(system.sign, "=", variables.text(system.sign));
    found.hosts = system.hosts(variables, system.sign);
    if (found.hosts.empty()) variables.refuse(system.sign, "names no host");
    found.by_srun = slurm;
    return found;
  }
  return std::nullopt;
}

std::string describe(const Allocation& allocation) {
  int slots = 0;
  for (const Host& host : allocation.hosts) slots += host.capacity();
  const std::size_t hosts = allocation.hosts.size();
  return concat(hosts, hosts == 1 ? " host" : " hosts", " with ", slots,
                slots == 1 ? " slot" : " slots", " by ", allocation.found_by);
}

}  // namespace bp::launcher
