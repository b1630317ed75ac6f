// Each launcher is a row of kLaunchers. The order of the rows matters: the processes of a launcher
// also have the variables of what started the launcher itself.
#include "comm/topology/launcher.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/joined.h"
#include "base/text.h"

namespace bp {
namespace {

struct LauncherRow {
  const char* name = "";
  const char* sign = "";  // the variable that shows the launcher; "" in another field: it has none
  const char* rank = "";
  const char* size = "";
  const char* local_size = "";  // the number of ranks on this host, or
  const char* hosts = "";       // the number of hosts
  const char* node = "";
  const char* job = "";   // job and part together name the job
  const char* part = "";  // a step of the job
  const char* master_host = "";
  const char* master_port = "";
  const char* alone = "";  // processes per node, which the launcher does not start; must be 1
};

constexpr std::array kLaunchers = {
    // Each torchrun counts the restarts of its own ranks, so the number tells no attempts apart.
    LauncherRow{.name = "torchrun",
                .sign = "TORCHELASTIC_RUN_ID",
                .rank = "RANK",
                .size = "WORLD_SIZE",
                .local_size = "LOCAL_WORLD_SIZE",
                .node = "GROUP_RANK",
                .job = "TORCHELASTIC_RUN_ID",
                .master_host = "MASTER_ADDR",
                .master_port = "MASTER_PORT"},
    LauncherRow{.name = "openmpi",
                .sign = "OMPI_COMM_WORLD_RANK",
                .rank = "OMPI_COMM_WORLD_RANK",
                .size = "OMPI_COMM_WORLD_SIZE",
                .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
                .job = "PMIX_NAMESPACE",
                .part = "OMPI_MCA_ess_base_jobid"},
    LauncherRow{.name = "mpich",
                .sign = "MPI_LOCALRANKID",
                .rank = "PMI_RANK",
                .size = "PMI_SIZE",
                .local_size = "MPI_LOCALNRANKS"},
    LauncherRow{.name = "jsrun",
                .sign = "JSM_NAMESPACE_RANK",
                .rank = "JSM_NAMESPACE_RANK",
                .size = "JSM_NAMESPACE_SIZE",
                .local_size = "JSM_NAMESPACE_LOCAL_SIZE",
                .job = "LSB_JOBID"},
    // SLURM_PROCID is not a sign: a batch script has it too, without srun.
    LauncherRow{.name = "slurm",
                .sign = "SLURM_STEP_ID",
                .rank = "SLURM_PROCID",
                .size = "SLURM_NTASKS",
                .hosts = "SLURM_STEP_NUM_NODES",
                .node = "SLURMD_NODENAME",
                .job = "SLURM_JOB_ID",
                .part = "SLURM_STEP_ID"},
    LauncherRow{.name = "pmi",
                .sign = "PMI_RANK",
                .rank = "PMI_RANK",
                .size = "PMI_SIZE",
                .job = "PMI_JOBID"},
    // PMIx gives the size only to its own library, so WORLD_SIZE must be set.
    LauncherRow{.name = "pmix",
                .sign = "PMIX_RANK",
                .rank = "PMIX_RANK",
                .size = "WORLD_SIZE",
                .job = "PMIX_NAMESPACE"},
    LauncherRow{.name = "plain",
                .sign = "RANK",
                .rank = "RANK",
                .size = "WORLD_SIZE",
                .local_size = "LOCAL_WORLD_SIZE",
                .master_host = "MASTER_ADDR",
                .master_port = "MASTER_PORT"},
    LauncherRow{.name = "pet",
                .sign = "PET_NODE_RANK",
                .rank = "PET_NODE_RANK",
                .size = "PET_NNODES",
                .job = "PET_RDZV_ID",
                .master_host = "PET_MASTER_ADDR",
                .master_port = "PET_MASTER_PORT",
                .alone = "PET_NPROC_PER_NODE"},
    LauncherRow{.name = "indexed",
                .sign = "JOB_COMPLETION_INDEX",
                .rank = "JOB_COMPLETION_INDEX",
                .size = "WORLD_SIZE",
                .master_host = "MASTER_ADDR",
                .master_port = "MASTER_PORT"},
};

constexpr int kMostRanks = 1 << 20;

// If only the size of a launcher's variables is set, the set is broken, and an error is better than
// running alone.
constexpr std::array<std::array<const char*, 2>, 5> kLoneSizes = {{
    {"openmpi", "OMPI_COMM_WORLD_SIZE"},
    {"jsrun", "JSM_NAMESPACE_SIZE"},
    {"pmi", "PMI_SIZE"},
    {"plain", "WORLD_SIZE"},
    {"pet", "PET_NNODES"},
}};

const LauncherRow* by_name(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kLaunchers, [&](const LauncherRow& row) { return row.name == name; });
  return found == kLaunchers.end() ? nullptr : found;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

LaunchedRank read(const Variables& variables,
                  const LauncherRow& launcher,
                  const std::string& sign) {
  const Contract contract(
      variables, sign,
      concat("the launcher ", launcher.name,
             " sets them together (BP_ENGINE=none runs this process alone, BP_ENGINE=NAME picks "
             "another launcher)"));
  LaunchedRank found;
  found.launcher = launcher.name;
  found.found_by = concat(sign, "=", variables.text(sign));
  found.rank = contract.required_number(launcher.rank, 0);
  found.size = contract.required_number(launcher.size, 1);
  if (found.size > kMostRanks) {
    variables.refuse(launcher.size, concat("is more than ", kMostRanks, " ranks"));
  }
  if (found.rank >= found.size) {
    variables.refuse(launcher.rank,
                     concat("is not below ", launcher.size, ", which is ", found.size));
  }
  if (contract.number(launcher.alone, 1).value_or(1) != 1) {
    variables.refuse(launcher.alone,
                     "this launcher does not start several processes of a node itself: start the "
                     "program with torchrun, or set one process per node");
  }
  if (const auto local = contract.number(launcher.local_size, 1)) {
    found.one_host = *local == found.size;
  }
  if (const auto hosts = contract.number(launcher.hosts, 1)) found.one_host = *hosts == 1;
  found.node = variables.text(launcher.node);
  found.job = variables.text(launcher.job);
  if (const std::string part = variables.text(launcher.part); !part.empty()) {
    found.job += concat(".", part);
  }
  if (variables.has(launcher.master_host) || variables.has(launcher.master_port)) {
    found.master_host = contract.required(launcher.master_host);
    found.master_port = contract.required(launcher.master_port);
    found.one_host = found.one_host || is_loopback(found.master_host);
  }
  return found;
}

}  // namespace

// Steps with numbers of 2^32 - 16 or more are Slurm's own: the batch script, an interactive shell.
bool in_slurm_step(const Variables& variables) {
  constexpr unsigned long kFirstOfSlurm = 4294967280;
  if (!variables.has("SLURM_STEP_ID")) return false;
  const std::string id = variables.text("SLURM_STEP_ID");
  unsigned long number = 0;
  (void)std::from_chars(id.data(), id.data() + id.size(), number);
  return number < kFirstOfSlurm;
}

std::string launcher_names() { return joined(kLaunchers, ", ", &LauncherRow::name); }

std::optional<LaunchedRank> find_launcher(const Variables& variables) {
  if (const std::string asked = variables.text("BP_ENGINE"); !asked.empty()) {
    if (asked == "none") return std::nullopt;
    const LauncherRow* const launcher = by_name(asked);
    if (launcher == nullptr) {
      variables.refuse("BP_ENGINE", concat("no such launcher; the launchers are: none, bprun, ",
                                           launcher_names()));
    }
    return read(variables, *launcher, variables.has(launcher->sign) ? launcher->sign : "BP_ENGINE");
  }
  for (const LauncherRow& launcher : kLaunchers) {
    const bool slurm = std::string_view(launcher.name) == "slurm";
    if (slurm ? in_slurm_step(variables) : variables.has(launcher.sign)) {
      return read(variables, launcher, launcher.sign);
    }
  }
  for (const auto& [name, size] : kLoneSizes) {
    if (variables.has(size)) return read(variables, *by_name(name), size);
  }
  return std::nullopt;
}

}  // namespace bp
