#include "launcher/hosts/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "bp/error.h"
#include "launcher/agent/ssh_command.h"
#include "launcher/hosts/nodelist.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace bp::launcher {
namespace {

using test::refusal_of;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using Map = Variables::Map;

// The expected names are those that `scontrol show hostnames` of Slurm 22.05 prints.
// docs/acceptance.md, Other engines: Slurm's lists of nodes expand as scontrol expands them.
TEST(Nodelist, ExpandsLikeScontrol) {
  const auto names = [](const char* text) { return parse_nodelist(text, "x"); };
  EXPECT_THAT(names("login"), ElementsAre("login"));
  EXPECT_THAT(names("n[1-3,7]"), ElementsAre("n1", "n2", "n3", "n7"));
  EXPECT_THAT(names("gpu[001-003]"), ElementsAre("gpu001", "gpu002", "gpu003"));
  EXPECT_THAT(names("n[8-10]"), ElementsAre("n8", "n9", "n10"));
  EXPECT_THAT(names("n[08-10]"), ElementsAre("n08", "n09", "n10"));
  EXPECT_THAT(names("a[1-2]b[1-2]"), ElementsAre("a1b1", "a1b2", "a2b1", "a2b2"));
  EXPECT_THAT(names("n1,gpu[01-02],x"), ElementsAre("n1", "gpu01", "gpu02", "x"));
  EXPECT_THAT(names("n[1-65536]"), SizeIs(65536));
  // scontrol refuses these forms, but the names of many networks have them.
  EXPECT_THAT(names("n[1-2]-ib,[3-4]"), ElementsAre("n1-ib", "n2-ib", "3", "4"));
}

TEST(Nodelist, RefusesMalformedLists) {
  const auto error = [](const char* text) {
    return refusal_of([=] { return parse_nodelist(text, "SLURM_JOB_NODELIST"); });
  };
  EXPECT_EQ(error("n[1-3"), "SLURM_JOB_NODELIST: a bracket is not closed in 'n[1-3'");
  EXPECT_EQ(error("n1]"), "SLURM_JOB_NODELIST: an unmatched bracket in 'n1]'");
  EXPECT_EQ(error("n[[1]]"), "SLURM_JOB_NODELIST: an unmatched bracket in 'n[[1]]'");
  EXPECT_EQ(error("n[0-65536]"),
            "SLURM_JOB_NODELIST: '[0-65536]' stands for more than 65536 hosts");
  EXPECT_THAT(error("a[0-999]b[0-999]"), HasSubstr("stands for more than 65536 hosts"));
  EXPECT_EQ(error("n[1-65536],x"), "SLURM_JOB_NODELIST: more than 65536 hosts");
  for (const char* text : {"n[]", "n[3-1]", "n[a]", "n[1-]", "n[1,]", "n[-1]"}) {
    EXPECT_THAT(error(text), HasSubstr("each must be a number from ")) << text;
  }
  for (const char* text : {"", "a,,b", "-x", "a b"}) {
    EXPECT_THAT(error(text), HasSubstr("is not a host name")) << text;
  }
}

TEST(NodeCounts, AreSpelledOut) {
  EXPECT_THAT(parse_node_counts("2,1", "x"), ElementsAre(2, 1));
  EXPECT_THAT(parse_node_counts("2(x3),1", "x"), ElementsAre(2, 2, 2, 1));
  for (const char* text : {"", "2(x3", "2(x)", "0", "(x2)", "2(x3),", "2(x65537)"}) {
    EXPECT_THAT(refusal_of([=] { return parse_node_counts(text, "x"); }), StartsWith("x: "))
        << text;
  }
  EXPECT_THAT(parse_node_counts("1(x65536)", "x"), SizeIs(65536));
  EXPECT_EQ(refusal_of([] { return parse_node_counts("1(x65536),1", "x"); }),
            "x: more than 65536 hosts");
}

class AllocationTest : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& text) const {
    return folder_.write("hosts", text);
  }

  // "a:3" for a host with three slots, "a:3/4" if max_slots allows four.
  static std::vector<std::string> found_in(const Map& map) {
    std::vector<std::string> texts;
    const auto found = find_allocation(Variables(map));
    if (!found) return {"none"};
    for (const Host& host : found->hosts) {
      texts.push_back(host.name + ":" + std::to_string(host.capacity()) +
                      (host.max_slots ? "/" + std::to_string(*host.max_slots) : ""));
    }
    return texts;
  }

  Scratch folder_;
};

// docs/acceptance.md, Other engines: In a batch job bprun takes the hosts of the allocation.
TEST_F(AllocationTest, OfSlurmIsThatOfABatchScriptOrAnInteractiveShell) {
  const Map script = {{"SLURM_JOB_NODELIST", "n[1-2],big"},
                      {"SLURM_TASKS_PER_NODE", "2(x2),1"},
                      {"SLURM_JOB_CPUS_PER_NODE", "4(x2),1"},
                      {"SLURM_PROCID", "0"}};
  EXPECT_THAT(found_in(script), ElementsAre("n1:2/4", "n2:2/4", "big:1/1"));
  const auto found = find_allocation(Variables(script));
  EXPECT_TRUE(found->by_srun);
  EXPECT_EQ(describe(*found), "3 hosts with 5 slots by SLURM_JOB_NODELIST=n[1-2],big");
  Map other = script;
  other["SLURM_STEP_ID"] = "4294967290";
  EXPECT_THAT(found_in(other), SizeIs(3));
  other["SLURM_STEP_ID"] = "0";
  EXPECT_THAT(found_in(other), ElementsAre("none")) << "srun has started this bprun";
  other = script;
  other["BP_ENGINE"] = "none";
  EXPECT_THAT(found_in(other), ElementsAre("none"));
  EXPECT_THAT(found_in({{"SLURM_JOB_NODELIST", "n1"}}), ElementsAre("n1:1"));
  other = script;
  other["SLURM_TASKS_PER_NODE"] = "2";
  EXPECT_EQ(refusal_of([&] { return find_allocation(Variables(other)); }),
            "SLURM_TASKS_PER_NODE=2: counts for 1 hosts, but SLURM_JOB_NODELIST names 3");
}

TEST_F(AllocationTest, OfAHeterogeneousSlurmJobHasAllComponents) {
  Map job = {{"SLURM_JOB_NODELIST", "n1"},
             {"SLURM_TASKS_PER_NODE", "1"},
             {"SLURM_HET_SIZE", "2"},
             {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
             {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "1"},
             {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "4"},
             {"SLURM_JOB_NODELIST_HET_GROUP_1", "big[1-2]"},
             {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "2(x2)"},
             {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "8(x2)"}};
  EXPECT_THAT(found_in(job), ElementsAre("n1:1/4", "big1:2/8", "big2:2/8"));
  const auto found = find_allocation(Variables(job));
  EXPECT_EQ(describe(*found), "3 hosts with 5 slots by SLURM_HET_SIZE=2");
  EXPECT_THAT(srun_command(found->hosts[0], "/b"), Contains("--het-group=0"));
  EXPECT_THAT(srun_command(found->hosts[2], "/b"), Contains("--het-group=1"));
  job.erase("SLURM_JOB_NODELIST");  // salloc sets none
  EXPECT_THAT(found_in(job), SizeIs(3));
  job["SLURM_JOB_NODELIST_HET_GROUP_1"] = "n1,big2";
  EXPECT_THAT(found_in(job), ElementsAre("n1:3/12", "big2:2/8"));
  job.erase("SLURM_JOB_NODELIST_HET_GROUP_1");
  EXPECT_EQ(refusal_of([&] { return find_allocation(Variables(job)); }),
            "SLURM_HET_SIZE=2: names a job with several components, but "
            "SLURM_JOB_NODELIST_HET_GROUP_1 is not set; name the hosts with -H");
}

TEST_F(AllocationTest, OfOtherBatchSystems) {
  EXPECT_THAT(found_in({}), ElementsAre("none"));
  EXPECT_THAT(found_in({{"PBS_NODEFILE", file("a\na\nb\na\n")}}), ElementsAre("a:3", "b:1"));
  EXPECT_THAT(found_in({{"LSB_MCPU_HOSTS", "h1 4 h2 2"}}), ElementsAre("h1:4", "h2:2"));
  EXPECT_THAT(
      found_in({{"PE_HOSTFILE", file("h2 2 all.q@h2 UNDEFINED\nh1 1 all.q@h1 UNDEFINED\n")}}),
      ElementsAre("h2:2", "h1:1"));
  const Map launcher = {{"K_MPI_JOB_ROLE", "launcher"}};
  Map job = launcher;
  job["OMPI_MCA_orte_default_hostfile"] = file("w-0.job slots=2\nw-1.job slots=2\n");
  EXPECT_THAT(found_in(job), ElementsAre("w-0.job:2", "w-1.job:2"));
  job.erase("K_MPI_JOB_ROLE");
  EXPECT_THAT(found_in(job), ElementsAre("none"))
      << "a user's own setting for mpirun is not an allocation";
  job = launcher;
  job["HYDRA_HOST_FILE"] = file("w-0.job:3\nw-1.job\n");
  EXPECT_THAT(found_in(job), ElementsAre("w-0.job:3", "w-1.job:1"));
}

TEST_F(AllocationTest, ThatCannotBeReadNamesItsVariable) {
  const auto error = [](const Map& map) {
    return refusal_of([&] { return find_allocation(Variables(map)); });
  };
  EXPECT_THAT(error({{"PBS_NODEFILE", "/no/file"}}),
              AllOf(StartsWith("PBS_NODEFILE=/no/file: "), HasSubstr("No such file")));
  ASSERT_EQ(::mkfifo(folder_.path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(error({{"PBS_NODEFILE", folder_.path("fifo")}}),
              HasSubstr("it is a pipe, not a regular file"))
      << "without waiting for its writer";
  EXPECT_THAT(error({{"PE_HOSTFILE", file("")}}), HasSubstr("names no host"));
  EXPECT_EQ(error({{"LSB_MCPU_HOSTS", "h1"}}),
            "LSB_MCPU_HOSTS: the slots of h1 must be a number from 1 to 4096, not ''");
  EXPECT_THAT(error({{"LSB_MCPU_HOSTS", "-x 1"}}), HasSubstr("is not a host name"));
}

TEST(SrunCommand, StartsOneTaskOnTheNodeBesideOtherSteps) {
  Host host;
  host.name = "n2";
  EXPECT_THAT(srun_command(host, "/opt/b p/bprun"),
              ElementsAre("srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=n2",
                          "--cpu-bind=none", "--mpi=none", "--unbuffered", "env", "-u",
                          "SSH_CONNECTION", "/opt/b p/bprun", "--agent"));
}

}  // namespace
}  // namespace bp::launcher
