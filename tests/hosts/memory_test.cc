// Hosts of unequal memory train a model together of which one of them cannot keep an equal share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/text.h"
#include "tests/hosts/hosts.h"
#include "tests/support/memory_limit.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using testing::ContainsRegex;

class MemoryOfHosts : public HostsTest {
 protected:
  void SetUp() override {
    HostsTest::SetUp();
    if (IsSkipped()) return;
    write("agent", concat("#!/bin/sh\ngroup=", path("$(hostname)"),
                          "\n[ ! -e $group ] || echo $$ >\"$(cat $group)\"\nexec ", kBinDir,
                          "/bprun \"$@\"\n"));
    std::filesystem::permissions(path("agent"), std::filesystem::perms::owner_all);
    std::filesystem::create_directory(path("model"));
    write("model/config.json",
          R"({"model_type": "bert", "num_hidden_layers": 6, "hidden_size": 768, "vocab_size": 30522,
              "num_attention_heads": 12, "intermediate_size": 3072, "type_vocab_size": 2,
              "max_position_embeddings": 512})");
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return concat(hosts().folder(), "/memory-", name);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

  // The agent and the rank of a host have a control group of their own, as in a container, if a
  // file with the host's name says which.
  void limit(const std::string& host, const MemoryLimit& group) const {
    write(host, group.members());
  }
  void unlimit(const std::string& host) const { std::filesystem::remove(path(host)); }

  // Trains a model of 43 million parameters (166 MiB).
  [[nodiscard]] BprunProcess train(const std::string& name,
                                   int steps,
                                   const std::string& shares) const {
    return run({"-H",
                "a:1,b:1",
                "--remote-bprun",
                path("agent"),
                kBinDir + "/bert_train",
                kSourceDir + "/examples/reviews.csv",
                "--text",
                "review",
                "--label",
                "label",
                "--model",
                path("model"),
                "--max-length",
                "16",
                "--batch",
                "1",
                "--schedule",
                "constant",
                "--warmup",
                "0",
                "--eval-every",
                "100",
                "--steps",
                std::to_string(steps),
                "--shard",
                "gradients",
                "--shard-shares",
                shares,
                "--store",
                path("store.sqlite"),
                "--run",
                path(name)},
               "export OMP_NUM_THREADS=1");
  }
  [[nodiscard]] std::string weights_of(const std::string& name) const {
    std::ifstream file(path(name) + "/model/model.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

// A parameter takes 4 bytes on each host, and 12 more on its owner's. The program takes some 70 MiB
// and a step as much.
// docs/acceptance.md, Optimizer: Hosts of unequal memory train a model that equal shares do not
// fit, and go on with other shares.
TEST_F(MemoryOfHosts, TrainWhatEqualSharesDoNotFit) {
  const MemoryLimit large(1200, "-a");
  const MemoryLimit small(500, "-b");
  if (!large.exists() || !small.exists()) {
    GTEST_SKIP() << "this machine permits no new control groups";
  }
  limit("a", large);
  limit("b", small);
  BprunProcess equal = train("equal", 2, "equal");
  EXPECT_EQ(equal.finish(), 137);
  EXPECT_THAT(equal.err(), ContainsRegex("rank 1 on b .*was killed by signal 9 \\(SIGKILL\\)"));
  EXPECT_THAT(equal.err(), ContainsRegex("\n  hint: out of memory: .*its control group"));

  BprunProcess by_memory = train("run", 2, "auto");
  EXPECT_EQ(by_memory.finish(), 0) << by_memory.err();
  BprunProcess none_on_b = train("run", 3, "a:1,b:0");
  EXPECT_EQ(none_on_b.finish(), 0) << none_on_b.err();
  unlimit("a");
  unlimit("b");
  BprunProcess wider = train("run", 4, "a:1,b:1");
  EXPECT_EQ(wider.finish(), 0) << wider.err();

  BprunProcess undisturbed = train("undisturbed", 4, "a:1,b:1");
  EXPECT_EQ(undisturbed.finish(), 0) << undisturbed.err();
  EXPECT_GT(weights_of("run").size(), 160'000'000);
  EXPECT_TRUE(weights_of("run") == weights_of("undisturbed"));
}

}  // namespace
}  // namespace bp::test
