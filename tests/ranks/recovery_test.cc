// The cases in which recover() is refused, and the texts of the errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "bp/collective.h"
#include "bp/error.h"
#include "tests/support/refusal.h"
#include "tests/support/run_processes.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using testing::HasSubstr;

RANK_BODY(no_recovery) {
  Communicator world = Communicator::create();
  Communicator group = world.split(0);
  EXPECT_THAT(refusal_of([&] { return world.recover(); }),
              HasSubstr("world has nothing to recover from: it has not failed"));
  EXPECT_THAT(refusal_of([&] { return group.recover(); }),
              HasSubstr("cannot recover: only a world of several ranks can"));
  barrier(world);
  std::vector<int> data(1 + static_cast<std::size_t>(world.rank()));
  EXPECT_THROW(all_reduce(world, view(data)), Error);
  EXPECT_THAT(refusal_of([&] { return world.recover(); }),
              HasSubstr("this job ends with its first failure (bprun --on-failure "
                        "continue lets the survivors continue)"));
  return 0;
}

// docs/acceptance.md, Recovery and restarts: recover() is refused if the launcher does not let
// survivors continue.
TEST(Processes, RecoveryNeedsAFailedWorldAndAJobThatContinues) {
  for (const ProcessResult& result : try_processes("no_recovery", {.ranks = 2})) {
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
}

// Gives a rank of bprun the environment of a rank of a Slurm step on one node, as srun would set
// it.
void become_rank_of_slurm() {
  const std::string rank = std::getenv("RANK");
  const std::string size = std::getenv("WORLD_SIZE");
  for (const char* name :
       {"RANK", "WORLD_SIZE", "BP_LOCAL_SIZES", "BP_STORE", "BP_JOB", "BP_KEY_FD"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"SLURM_JOB_ID", "5"},
                                    {"SLURM_STEP_ID", "0"},
                                    {"SLURM_STEP_NUM_NODES", "1"},
                                    {"SLURMD_NODENAME", "node1"},
                                    {"SLURM_PROCID", rank},
                                    {"SLURM_NTASKS", size}}) {
    ::setenv(name, value.c_str(), 1);
  }
}

RANK_BODY(no_recovery_under_slurm) {
  become_rank_of_slurm();
  Communicator world = Communicator::create();
  std::vector<int> data(1 + static_cast<std::size_t>(world.rank()));
  EXPECT_THROW(all_reduce(world, view(data)), Error);
  EXPECT_EQ(refusal_of([&] { return world.recover(); }),
            "recover() under the launcher slurm: only bprun --on-failure continue lets the other "
            "ranks continue");
  return 0;
}

TEST(Processes, RecoveryIsRefusedUnderSlurm) {
  const Scratch folder;
  run_processes(
      "no_recovery_under_slurm",
      {.ranks = 2, .environment = {"BP_SHARED_FOLDER=" + folder.path(), "BP_INTERFACE=127.0.0.1"}});
}

}  // namespace
}  // namespace bp::test
