// Several ranks on GPUs train as one does, whichever way their gradients take.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/gpu/gpu_runs.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using ::testing::ContainsRegex;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct RanksCase {
  std::string name;
  std::string placing;
  int batch = 16;                       // of each rank: 16 rows in all
  std::vector<std::string> algorithms;  // of its gradients
  std::string environment = {};
};
void PrintTo(const RanksCase& one, std::ostream* out) { *out << one.name; }

// One epoch of 96 rows. The machine has four GPUs, which bprun lists by NVML.
class GpuRanks : public test::GpuRuns<GpuRanks>, public ::testing::WithParamInterface<RanksCase> {
 protected:
  static void SetUpTestSuite() {
    prepare_pairs();
    ::setenv("FAKE_CUDA_DEVICES", "4", 1);
    ::setenv("FAKE_NVML",
             "fake|17179869184|0|0|\nfake|17179869184|0|0|\n"
             "fake|17179869184|0|0|\nfake|17179869184|0|0|",
             1);
    run_together(bert_train(concat(kData, kTraining, "--batch 16 --run cpu --device cpu")),
                 bert_train(concat(kData, kTraining, "--batch 16 --run one --device cuda")));
  }
  static constexpr const char* kTraining = "--epochs 1 ";

  // Starts two ranks, each of which writes its process id into a file, and kills the second one at
  // its third step. Returns what bprun says, and "ended within 10 s" if that holds.
  static Ended run_with_a_killed_rank(const std::string& run, const std::string& environment) {
    const std::string rank = concat("rank-of-", run);
    std::ofstream(path(rank)) << "#!/bin/sh\necho $$ > " << run
                              << ".$RANK\nexec " + kBinDir + "/bert_train \"$@\"\n";
    fs::permissions(path(rank), fs::perms::owner_all);
    const std::string command = concat(environment, kBinDir + "/bprun -n 2 ./", rank, " ", kData,
                                       "--epochs 100 --batch 8 --device cuda --run ", run, "-run");
    return in_folder(concat(
        "{ ", command, " > log 2>&1 & pid=$!; for i in $(seq 1200); do ", "grep -q \"step.:3,\" ",
        run, "-run/metrics.jsonl 2> /dev/null && ", "break; sleep 0.02; done; kill -KILL $(cat ",
        run, ".1); ", "begin=$(date +%s); wait $pid; code=$?; cat log; ",
        "[ $(($(date +%s) - begin)) -le 10 ] && echo ended within 10 s; ", "exit $code; }"));
  }
};

// docs/acceptance.md, Devices: 1, 2, 4 and 3+1 ranks on GPUs train one model, by NCCL, through host
// memory and by Gloo. Two of them may share a GPU.
TEST_P(GpuRanks, TrainTheModelOfOneRank) {
  const auto& [name, placing, batch, algorithm_names, environment] = GetParam();
  run_together(concat(
      environment, " ",
      bprun(placing, concat(kData, kTraining, "--batch ", batch, " --device cuda --run ", name))));
  test::expect_near(numbers("one"), numbers(name), 1e-6);
  test::expect_near(numbers("cpu"), numbers(name), 1e-5);
  EXPECT_THAT(algorithms(name), ElementsAreArray(algorithm_names));
}

constexpr const char* kUneven = "-H localhost:3,127.0.0.1:1 ";

INSTANTIATE_TEST_SUITE_P(
    All,
    GpuRanks,
    ::testing::Values(
        RanksCase{"two", "-n 2", 8, {"nccl"}},
        RanksCase{"four", "-n 4", 4, {"nccl"}},
        RanksCase{"uneven", concat(kUneven, "--gpus all"), 4, {"nccl"}},
        RanksCase{"two_by_gloo", "-n 2", 8, {"ring"}, "BP_BACKEND=gloo BP_ALGORITHM=ring"},
        RanksCase{
            "uneven_staged", concat(kUneven, "--gpus all"), 4, {"hierarchical"}, "env -u BP_NCCL"},
        // Without --gpus the first ranks of both hosts take GPU 0, which NCCL does not serve.
        RanksCase{"two_on_one_gpu", kUneven, 4, {"hierarchical"}}),
    [](const auto& parameter) { return parameter.param.name; });

// bprun promises 2 s.
// docs/acceptance.md, Devices: The job ends if a rank on a GPU is killed.
TEST_F(GpuRanks, OneIsKilledAndTheJobEnds) {
  for (const auto& [run, environment] :
       {std::pair("by-nccl", ""), std::pair("staged", "env -u BP_NCCL ")}) {
    SCOPED_TRACE(run);
    const Ended ended = run_with_a_killed_rank(run, environment);
    EXPECT_EQ(ended.code, 128 + 9) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("ended within 10 s\n"));
    EXPECT_THAT(ended.output, ContainsRegex("bprun: FAILED  rank 1 on localhost .* signal 9"));
  }
}

}  // namespace
}  // namespace bp::trainer
