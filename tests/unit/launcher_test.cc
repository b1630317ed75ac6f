// The variables below are what the launchers set. Slurm 22.05, Open MPI 4.1.4, MPICH 4.0.2 and
// torchrun 2.11 were asked with `env`; the others are from their sources or manuals.
#include "comm/topology/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Map = Variables::Map;

const Map kTorchrun = {{"RANK", "3"},
                       {"WORLD_SIZE", "4"},
                       {"LOCAL_RANK", "0"},
                       {"LOCAL_WORLD_SIZE", "1"},
                       {"GROUP_RANK", "1"},
                       {"GROUP_WORLD_SIZE", "2"},
                       {"ROLE_RANK", "3"},
                       {"ROLE_WORLD_SIZE", "4"},
                       {"MASTER_ADDR", "10.0.0.1"},
                       {"MASTER_PORT", "29500"},
                       {"TORCHELASTIC_RUN_ID", "none"},
                       {"TORCHELASTIC_RESTART_COUNT", "0"},
                       {"TORCHELASTIC_MAX_RESTARTS", "0"},
                       {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Map kOpenMpi = {
    {"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "2"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
    {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"OMPI_MCA_ess_base_jobid", "1557921793"},
    {"OMPI_MCA_orte_num_nodes", "1"},    {"PMIX_RANK", "1"},
    {"PMIX_NAMESPACE", "1557921793"}};
const Map kMpich = {{"PMI_RANK", "2"},        {"PMI_SIZE", "4"},
                    {"PMI_FD", "8"},          {"MPI_LOCALRANKID", "0"},
                    {"MPI_LOCALNRANKS", "2"}, {"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "h1"},
                    {"SLURM_STEP_ID", "0"},  // mpiexec started its proxies with srun
                    {"SLURM_PROCID", "0"}};
const Map kSlurm = {{"SLURM_JOB_ID", "17"},
                    {"SLURM_STEP_ID", "0"},
                    {"SLURM_PROCID", "2"},
                    {"SLURM_LOCALID", "0"},
                    {"SLURM_NTASKS", "3"},
                    {"SLURM_NPROCS", "3"},
                    {"SLURM_NODEID", "1"},
                    {"SLURM_NNODES", "2"},
                    {"SLURM_STEP_NUM_TASKS", "3"},
                    {"SLURM_STEP_NUM_NODES", "2"},
                    {"SLURM_STEP_NODELIST", "h[1-2]"},
                    {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                    {"SLURMD_NODENAME", "h2"},
                    {"PMI_RANK", "2"},  // srun --mpi=pmi2
                    {"PMI_SIZE", "3"},
                    {"PMI_FD", "13"}};
const Map kPlain = {
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "w0"}, {"MASTER_PORT", "23456"}};
const Map kPet = {{"PET_NNODES", "2"},          {"PET_NPROC_PER_NODE", "1"},
                  {"PET_NODE_RANK", "1"},       {"PET_MASTER_ADDR", "train-node-0-0.train"},
                  {"PET_MASTER_PORT", "29500"}, {"JOB_COMPLETION_INDEX", "1"}};

Map with(Map map, const std::string& name, const std::string& value) {
  map[name] = value;
  return map;
}

Map without(Map map, const std::string& name) {
  map.erase(name);
  return map;
}

std::string text_of(const LaunchedRank& found) {
  return concat(found.launcher, " ", found.rank, "/", found.size, found.one_host ? " one host" : "",
                " by ", found.found_by, " node ", found.node, " job ", found.job, " at ",
                found.master_host, ":", found.master_port);
}

std::string found_in(const Map& map) {
  try {
    const auto found = find_launcher(Variables(map));
    return found ? text_of(*found) : "none";
  } catch (const Error& error) {
    return error.what();
  }
}

// docs/acceptance.md, Other engines: The variables of Slurm, Open MPI, MPICH and torchrun are read.
// docs/features.md, Launching: The first rank, the count of this machine and that of all |
// `--first-rank`, `--slots` and `-n` of each machine (`--serve`, `--join`), or an engine's
// variables
// docs/features.md, Launching: Open MPI, MPICH and Slurm | read
TEST(Launcher, ReadsTheVariablesOfEach) {
  EXPECT_EQ(found_in({}), "none");
  EXPECT_EQ(found_in(kTorchrun),
            "torchrun 3/4 by TORCHELASTIC_RUN_ID=none node 1 job none at 10.0.0.1:29500");
  EXPECT_EQ(found_in(kOpenMpi),
            "openmpi 1/2 one host by OMPI_COMM_WORLD_RANK=1 node  job 1557921793.1557921793 at :");
  EXPECT_EQ(found_in(kMpich), "mpich 2/4 by MPI_LOCALRANKID=0 node  job  at :");
  EXPECT_EQ(found_in(kSlurm), "slurm 2/3 by SLURM_STEP_ID=0 node h2 job 17.0 at :");
  EXPECT_EQ(
      found_in({{"JSM_NAMESPACE_RANK", "5"}, {"JSM_NAMESPACE_SIZE", "6"}, {"LSB_JOBID", "9"}}),
      "jsrun 5/6 by JSM_NAMESPACE_RANK=5 node  job 9 at :");
  EXPECT_EQ(found_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "1.0"}}),
            "pmi 0/2 by PMI_RANK=0 node  job 1.0 at :");
  EXPECT_EQ(
      found_in({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.2.0"}, {"WORLD_SIZE", "2"}}),
      "pmix 0/2 by PMIX_RANK=0 node  job slurm.pmix.2.0 at :");
  EXPECT_EQ(found_in(kPlain), "plain 1/4 by RANK=1 node  job  at w0:23456");
  EXPECT_EQ(found_in(kPet), "pet 1/2 by PET_NODE_RANK=1 node  job  at train-node-0-0.train:29500");
  EXPECT_EQ(found_in({{"JOB_COMPLETION_INDEX", "0"}, {"WORLD_SIZE", "3"}}),
            "indexed 0/3 by JOB_COMPLETION_INDEX=0 node  job  at :");
}

TEST(Launcher, OneHostIsAsTheLauncherSays) {
  EXPECT_THAT(found_in(with(kTorchrun, "LOCAL_WORLD_SIZE", "4")), HasSubstr("3/4 one host"));
  EXPECT_THAT(found_in(with(kMpich, "MPI_LOCALNRANKS", "4")), HasSubstr("2/4 one host"));
  EXPECT_THAT(found_in(with(kSlurm, "SLURM_STEP_NUM_NODES", "1")), HasSubstr("2/3 one host"));
  EXPECT_THAT(found_in(with(kPlain, "MASTER_ADDR", "127.0.0.1")), HasSubstr("1/4 one host"));
}

TEST(Launcher, ABatchScriptAndAnInteractiveShellOfSlurmAreNoStep) {
  const Map script = without(without(kSlurm, "PMI_RANK"), "PMI_SIZE");
  EXPECT_EQ(found_in(without(script, "SLURM_STEP_ID")), "none");
  EXPECT_EQ(found_in(with(script, "SLURM_STEP_ID", "4294967291")), "none");
  EXPECT_EQ(found_in(with(script, "SLURM_STEP_ID", "4294967290")), "none");
}

// docs/acceptance.md, Other engines: A variable of an engine that is missing is named.
TEST(Launcher, IncompleteVariablesNameTheMissingOne) {
  struct Case {
    Map variables;
    const char* missing;
    const char* there;
  };
  for (const Case& c : std::initializer_list<Case>{
           {without(kTorchrun, "RANK"), "RANK", "TORCHELASTIC_RUN_ID"},
           {without(kTorchrun, "WORLD_SIZE"), "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
           {without(kTorchrun, "MASTER_PORT"), "MASTER_PORT", "TORCHELASTIC_RUN_ID"},
           {without(kOpenMpi, "OMPI_COMM_WORLD_SIZE"), "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_RANK"},
           {{{"OMPI_COMM_WORLD_SIZE", "2"}}, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
           {without(kMpich, "PMI_SIZE"), "PMI_SIZE", "MPI_LOCALRANKID"},
           {without(kSlurm, "SLURM_PROCID"), "SLURM_PROCID", "SLURM_STEP_ID"},
           {without(kSlurm, "SLURM_NTASKS"), "SLURM_NTASKS", "SLURM_STEP_ID"},
           {{{"PMI_RANK", "1"}}, "PMI_SIZE", "PMI_RANK"},
           {{{"PMI_SIZE", "2"}}, "PMI_RANK", "PMI_SIZE"},
           {{{"PMIX_RANK", "1"}}, "WORLD_SIZE", "PMIX_RANK"},
           {{{"RANK", "1"}}, "WORLD_SIZE", "RANK"},
           {{{"WORLD_SIZE", "2"}}, "RANK", "WORLD_SIZE"},
           {{{"PET_NNODES", "2"}}, "PET_NODE_RANK", "PET_NNODES"},
           {without(kPet, "PET_MASTER_ADDR"), "PET_MASTER_ADDR", "PET_NODE_RANK"},
           {{{"JOB_COMPLETION_INDEX", "1"}}, "WORLD_SIZE", "JOB_COMPLETION_INDEX"},
       }) {
    EXPECT_THAT(found_in(c.variables),
                AllOf(StartsWith(concat(c.missing, " is not set, but ", c.there, " is: ")),
                      HasSubstr("BP_ENGINE=none")));
  }
}

TEST(Launcher, ErrorsNameTheWrongVariable) {
  EXPECT_EQ(found_in(with(kPlain, "RANK", "4")), "RANK=4: is not below WORLD_SIZE, which is 4");
  EXPECT_EQ(found_in(with(kPlain, "RANK", "")), "RANK=: is empty");
  EXPECT_EQ(found_in(with(kSlurm, "SLURM_NTASKS", "3x")),
            "SLURM_NTASKS=3x: is not a whole number of at least 1");
  EXPECT_EQ(found_in(with(kPet, "PET_NNODES", "1:4")),
            "PET_NNODES=1:4: is not a whole number of at least 1");
  EXPECT_THAT(found_in(with(kPet, "PET_NPROC_PER_NODE", "4")),
              AllOf(StartsWith("PET_NPROC_PER_NODE=4: "), HasSubstr("torchrun")));
  EXPECT_EQ(found_in(with(kPlain, "WORLD_SIZE", "2000000000")),
            "WORLD_SIZE=2000000000: is more than 1048576 ranks");
}

TEST(Launcher, CanBeChosenOrTurnedOff) {
  EXPECT_EQ(found_in(with(kSlurm, "BP_ENGINE", "none")), "none");
  EXPECT_THAT(found_in(with(kSlurm, "BP_ENGINE", "pmi")), StartsWith("pmi 2/3 by PMI_RANK=2 "));
  EXPECT_THAT(found_in(with(kPlain, "BP_ENGINE", "slurm")),
              StartsWith("SLURM_PROCID is not set, but BP_ENGINE is: the launcher slurm sets"));
  EXPECT_EQ(found_in(with(kPlain, "BP_ENGINE", "sge")),
            "BP_ENGINE=sge: no such launcher; the launchers are: none, bprun, torchrun, openmpi, "
            "mpich, jsrun, slurm, pmi, pmix, plain, pet, indexed");
}

TEST(Launcher, InnerLauncherComesFirst) {
  Map both = kTorchrun;
  both.insert(kSlurm.begin(), kSlurm.end());
  EXPECT_THAT(found_in(both), StartsWith("torchrun 3/4"));
  both = kOpenMpi;
  both.insert(kSlurm.begin(), kSlurm.end());
  EXPECT_THAT(found_in(both), StartsWith("openmpi 1/2"));
}

}  // namespace
}  // namespace bp
