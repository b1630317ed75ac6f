// Follows examples/recipes as far as one machine allows. Processes stand for the pods and hosts of
// a recipe, and its commands, arguments and variables are used unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/text.h"
#include "launcher/process/shell_words.h"
#include "launcher/protocol/hello.h"
#include "shell.h"
#include "tests/support/places.h"

namespace bp {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::shell;
using ::testing::HasSubstr;

const std::string kRecipes = kSourceDir + "/examples/recipes/";
#ifdef BP_TORCH
constexpr bool kTrains = true;
#else
constexpr bool kTrains = false;  // without LibTorch, only the consumer can run
#endif

class Recipe : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(path("data"));
    fs::copy(kSourceDir + "/examples/reviews.csv", path("data/reviews.csv"));
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
    fs::permissions(path(name), fs::perms::owner_all);
  }
  [[nodiscard]] Ended in_folder(const std::string& command) const {
    return shell(
        concat("cd ", folder_, " || exit; PATH=", folder_, "/bin:", kBinDir, ":$PATH; ", command));
  }

  // The command and arguments of a container. The test's folder holds what it mounts at /data and
  // /key.
  [[nodiscard]] std::string command_of(const YAML::Node& container) const {
    std::string command;
    for (const char* part : {"command", "args"}) {
      for (const auto& node : container[part]) {
        const auto word = node.as<std::string>();
        if (word == "bert_train" && !kTrains) return command + " consumer";
        command += " " + here(word);
      }
    }
    return command + " --model tiny --steps 3";
  }
  [[nodiscard]] std::string here(const std::string& word) const {
    return word.starts_with("/data") || word.starts_with("/key") ? folder_ + word : word;
  }

  const std::string folder_ = concat(testing::TempDir(), "bp_recipes_", ::getpid());
};

// A shell command that runs these commands at the same time. It ends with the last exit code that
// is not 0 and prints which process had it.
std::string at_the_same_time(const std::vector<std::string>& commands) {
  std::string start = "code=0; pids=; ";
  for (const std::string& command : commands) start += concat(command, " & pids=\"$pids $!\"; ");
  return start +
         "i=0; for pid in $pids; do wait $pid || { code=$?; echo \"process $i: code $code\"; }; "
         "i=$((i + 1)); done; exit $code";
}

std::string free_port() {
  launcher::HeldPort held;
  return std::to_string(held.number());
}

// docs/features.md, Launching: Open MPI, MPICH and Slurm | read
TEST_F(Recipe, OpenMpi) {
  if (shell("command -v mpirun.openmpi").code != 0) {
    GTEST_SKIP() << "mpirun.openmpi is not installed";
  }
  write("hosts", "localhost slots=3\n");
  const Ended ended = in_folder(
      concat("MPIRUN=mpirun.openmpi OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ",
             kRecipes, "openmpi.sh hosts consumer; code=$?; ls; exit $code"));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("mean of 6 measurements on 3 ranks: 3.50"));
  EXPECT_THAT(ended.output, ::testing::Not(HasSubstr("bp-meeting")))
      << "the recipe must remove this file";
}

// Two hosts with two ranks and one. Rank 1 fails in the first attempt, and torchrun restarts all
// ranks.
// docs/features.md, Launching: torchrun's variables | read
TEST_F(Recipe, Torchrun) {
  const std::string python = kSourceDir + "/.deps/peers/bin/python";
  if (shell(concat(python, " -c \"import torch.distributed.run\"")).code != 0) {
    GTEST_SKIP() << "torchrun is not installed (bench/peers/setup)";
  }
  write("program",
        "#!/bin/sh\n[ $TORCHELASTIC_RESTART_COUNT$RANK = 01 ] && exit 7\nexec consumer\n");
  const std::string port = free_port();
  const auto host = [&](int ranks) {
    return concat("TORCHRUN=\"", python, " -m torch.distributed.run\" ", kRecipes, "torchrun.sh 2 ",
                  ranks, " localhost:", port, " ./program");
  };
  const Ended ended = in_folder(at_the_same_time({host(2), host(1)}));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("mean of 6 measurements on 3 ranks: 3.50"));
}

// docs/features.md, Launching: A job service in the cloud | the variables of its engine
TEST_F(Recipe, KubernetesJob) {
  const auto parts = YAML::LoadAllFromFile(concat(kRecipes, "kubernetes-job.yaml"));
  ASSERT_EQ(parts.size(), 2U);
  const YAML::Node service = parts[0];
  const YAML::Node job = parts[1]["spec"];
  const YAML::Node pod = job["template"]["spec"];
  const YAML::Node container = pod["containers"][0];
  EXPECT_EQ(service["kind"].as<std::string>(), "Service");
  EXPECT_EQ(parts[1]["kind"].as<std::string>(), "Job");
  EXPECT_EQ(job["completionMode"].as<std::string>(), "Indexed");
  EXPECT_EQ(pod["restartPolicy"].as<std::string>(), "Never") << "podFailurePolicy requires Never";
  const int ranks = job["completions"].as<int>();
  EXPECT_EQ(job["parallelism"].as<int>(), ranks);
  const auto name = parts[1]["metadata"]["name"].as<std::string>();
  const auto domain = service["metadata"]["name"].as<std::string>();
  EXPECT_EQ(pod["subdomain"].as<std::string>(), domain);
  EXPECT_EQ(service["spec"]["selector"]["job-name"].as<std::string>(), name);

  write("key/key", "a secret of more than 16 bytes");
  std::string variables;
  for (const auto& entry : container["env"]) {
    const auto variable = entry["name"].as<std::string>();
    auto value = here(entry["value"].as<std::string>());
    if (variable == "WORLD_SIZE") {
      EXPECT_EQ(value, std::to_string(ranks));
    }
    if (variable == "MASTER_ADDR") {
      EXPECT_EQ(value, concat(name, "-0.", domain));
      value = "127.0.0.1";
    }
    if (variable == "MASTER_PORT") value = free_port();
    variables += concat(variable, "=", value, " ");
  }
  std::vector<std::string> pods;
  for (int rank = 0; rank < ranks; ++rank) {
    pods.push_back(concat("JOB_COMPLETION_INDEX=", rank, " OMP_NUM_THREADS=1 ", variables,
                          command_of(container)));
  }
  const Ended ended = in_folder(at_the_same_time(pods));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr(kTrains ? "3 ranks, started by indexed"
                                              : "mean of 6 measurements on 3 ranks: 3.50"));
}

TEST_F(Recipe, MpiOperator) {
  const YAML::Node job = YAML::LoadFile(concat(kRecipes, "mpi-operator.yaml"));
  EXPECT_EQ(job["apiVersion"].as<std::string>(), "kubeflow.org/v2beta1");
  EXPECT_EQ(job["kind"].as<std::string>(), "MPIJob");
  const YAML::Node replicas = job["spec"]["mpiReplicaSpecs"];
  const YAML::Node launcher = replicas["Launcher"]["template"]["spec"]["containers"][0];
  const YAML::Node worker = replicas["Worker"]["template"]["spec"]["containers"][0];
  EXPECT_EQ(launcher["image"].as<std::string>(), worker["image"].as<std::string>());

  std::string hosts;  // in the form in which the operator writes them
  for (int i = 0; i < replicas["Worker"]["replicas"].as<int>(); ++i) {
    hosts += concat("bp-worker-", i, ".bp.default.svc slots=", job["spec"]["slotsPerWorker"], "\n");
  }
  write("hostfile", hosts);
  write("bin/ssh",
        "#!/bin/sh\nfor word; do :; done\nexport SSH_CONNECTION=\"127.0.0.1 1 127.0.0.1 22\"\n"
        "exec sh -c \"$word\"\n");
  const Ended ended =
      in_folder(concat("K_MPI_JOB_ROLE=launcher OMPI_MCA_orte_default_hostfile=", path("hostfile"),
                       command_of(launcher)));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("2 hosts with 4 slots by OMPI_MCA_orte_default_hostfile="));
  EXPECT_THAT(ended.output,
              HasSubstr(kTrains ? "samples, 4 ranks" : "mean of 10 measurements on 4 ranks: 5.50"));
}

// The job gets the batch system's warning, saves and is requeued, and its second run succeeds.
// docs/acceptance.md, Other engines: The recipes for Slurm, Open MPI, torchrun, Kubernetes and MPI
// Operator start jobs.
TEST_F(Recipe, Slurm) {
  write("program",
        "#!/bin/sh\necho \"rank $RANK of $WORLD_SIZE\"\n[ -e second ] && exec consumer\n"
        "trap \"exit 75\" USR1\ntouch ready.$RANK\nwhile :; do sleep 0.05; done\n");
  const Ended ended =
      in_folder(concat(kSourceDir, "/tests/e2e/with_slurm ", kSourceDir, "/tests/e2e/requeue ",
                       kRecipes, "slurm.sbatch 4 ./program"));
  if (ended.code == 77) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output,
              HasSubstr("bprun: 2 hosts with 4 slots by SLURM_JOB_NODELIST=node[1-2]"));
  EXPECT_THAT(ended.output, HasSubstr("exited with code 75"));
  EXPECT_THAT(ended.output, HasSubstr("mean of 10 measurements on 4 ranks: 5.50"));
}

}  // namespace
}  // namespace bp
