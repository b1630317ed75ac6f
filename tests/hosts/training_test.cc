// The main job on hosts of unequal size has the losses of a single host, and sends as much as
// `estimate` says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/hosts/hosts.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

constexpr int kSteps = 10;

class TrainingOnHosts : public HostsTest {
 protected:
  // Runs a command of bert_train, if it has a name, on the reviews, with `more` words.
  void train(const std::string& placing,
             const std::string& command,
             const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"-H", placing, kBinDir + "/bert_train"};
    if (!command.empty()) words.push_back(command);
    const std::vector<std::string> usual = {kSourceDir + "/examples/reviews.csv",
                                            "--text",
                                            "review",
                                            "--label",
                                            "label",
                                            "--dropout",
                                            "0",
                                            "--max-length",
                                            "32",
                                            "--store",
                                            hosts().folder() + "/reviews.sqlite"};
    words.insert(words.end(), usual.begin(), usual.end());
    words.insert(words.end(), more.begin(), more.end());
    BprunProcess bprun = run(words, "export OMP_NUM_THREADS=1");
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  }

  // The loss of each step. A run with fewer steps fails the test.
  std::vector<double> losses(const std::string& placing, int batch) const {
    const std::string trace = concat(hosts().folder(), "/trace-", placing);
    train(placing, "",
          {"--model", "tiny", "--lr", "1e-4", "--epsilon", "1e-6", "--warmup", "0", "--steps",
           std::to_string(kSteps), "--batch", std::to_string(batch), "--run",
           concat(hosts().folder(), "/run-", placing), "--trace", trace});
    std::vector<double> found;
    std::ifstream file(trace + "/rank-0.jsonl");
    for (std::string line; std::getline(file, line);) {
      found.push_back(nlohmann::json::parse(line)["loss"].get<double>());
    }
    EXPECT_EQ(found.size(), kSteps);
    return found;
  }

  // The bytes that host a has sent since its start, with headers.
  double sent_by_a() const {
    const std::string file = hosts().folder() + "/devices";
    hosts().at("a", "cat /proc/net/dev > " + file);
    std::ifstream devices(file);
    for (std::string word; devices >> word;) {
      if (word != "eth0:") continue;
      double figure = 0;
      for (int i = 0; i < 9; ++i) devices >> figure;
      return figure;
    }
    ADD_FAILURE() << "a has no eth0";
    return 0;
  }

  // What a sends in a run of so many steps. `all_reduced` becomes the bytes of the last one's
  // all_reduces.
  double sent_in(int steps, const std::string& shard, double& all_reduced) const {
    const std::string target = concat(hosts().folder(), "/run-", shard, steps);
    const double before = sent_by_a();
    train("a:2,b:1", "",
          {"--model", "mini", "--freeze", "embeddings", "--steps", std::to_string(steps),
           "--eval-every", std::to_string(steps), "--save-every", "none", "--shard", shard, "--run",
           target});
    const double after = sent_by_a();
    std::ifstream file(target + "/metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      const auto record = nlohmann::json::parse(line);
      if (!record.contains("comm")) continue;
      all_reduced = 0;
      for (const auto& kind : record["comm"]["kinds"]) {
        if (kind["operation"] == "all_reduce") all_reduced += kind["bytes"].get<double>();
      }
    }
    return after - before;
  }
};

// docs/acceptance.md, Launcher: A model trained on several hosts has the losses of one host.
TEST_F(TrainingOnHosts, HasTheLossesOfOneHost) {
  const auto expected = losses("a:6", 4);
  for (const auto& [placing, batch] : {std::pair{"a:3,b:1", 6}, std::pair{"a:1,b:2,c:3", 4}}) {
    EXPECT_THAT(losses(placing, batch), testing::Pointwise(testing::DoubleNear(1e-6), expected))
        << placing;
  }
}

// docs/acceptance.md, Launcher: What a host sends in a step with each --shard is what `estimate`
// says, but for headers.
TEST_F(TrainingOnHosts, SendsWhatEstimateSays) {
  const std::string estimate = hosts().folder() + "/estimate.json";
  train("a:2,b:1", "estimate",
        {"--model", "mini", "--freeze", "embeddings", "--measured-steps", "1", "--out", estimate});
  const auto json = nlohmann::json::parse(std::ifstream(estimate));
  for (const auto& cost : json["shards"]) {
    const std::string shard = cost["shard"];
    double all_reduced = 0;
    const double few = sent_in(2, shard, all_reduced);
    const double sent = (sent_in(2 + kSteps, shard, all_reduced) - few) / kSteps;
    // All ranks get the sums of the last bucket. estimate counts it like the others, of which a's
    // two ranks get two thirds, so that a sends one third.
    const bool divides = shard != "none" && shard != "host";
    const double expected = cost["sent"].get<double>() + (divides ? all_reduced * 2 / 3 : 0);
    // Headers take up to 4.4 %, and a acknowledges what it gets.
    EXPECT_GT(sent, expected * 0.99) << shard;
    EXPECT_LT(sent, expected * 1.07) << shard;
  }
}

}  // namespace
}  // namespace bp::test
