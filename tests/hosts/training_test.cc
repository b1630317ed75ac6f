// The main job on hosts of unequal size has the losses of a single host.
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
  // The loss of each step. A run with fewer steps fails the test.
  std::vector<double> losses(const std::string& placing, int batch) const {
    const std::string trace = concat(hosts().folder(), "/trace-", placing);
    BprunProcess bprun = run({"-H",
                              placing,
                              kBinDir + "/bert_train",
                              kSourceDir + "/examples/reviews.csv",
                              "--text",
                              "review",
                              "--label",
                              "label",
                              "--model",
                              "tiny",
                              "--dropout",
                              "0",
                              "--max-length",
                              "32",
                              "--lr",
                              "1e-4",
                              "--epsilon",
                              "1e-6",
                              "--warmup",
                              "0",
                              "--steps",
                              std::to_string(kSteps),
                              "--batch",
                              std::to_string(batch),
                              "--store",
                              hosts().folder() + "/reviews.sqlite",
                              "--run",
                              concat(hosts().folder(), "/run-", placing),
                              "--trace",
                              trace},
                             "export OMP_NUM_THREADS=1");
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    std::vector<double> found;
    std::ifstream file(trace + "/rank-0.jsonl");
    for (std::string line; std::getline(file, line);) {
      found.push_back(nlohmann::json::parse(line)["loss"].get<double>());
    }
    EXPECT_EQ(found.size(), kSteps);
    return found;
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

}  // namespace
}  // namespace bp::test
