// Jobs under attack: foreign clients connect to every port as soon as it opens.
#include "tests/support/strangers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/launcher/bprun_process.h"

namespace bp::test {
namespace {

struct Case {
  std::string name;
  std::string hosts;
  std::string backend;
  Strangers::Mode mode;
  int connections;
};

class StrangersTest : public testing::TestWithParam<Case> {};

// docs/acceptance.md, Strangers: Strangers on every port of a job do no harm, over every backend.
TEST_P(StrangersTest, DoNotHarmTheJob) {
  const Case& c = GetParam();
  const Strangers strangers(c.mode, c.connections);
  BprunProcess bprun({.arguments = {"-H", c.hosts, rank_program(), "traced"},
                      .environment = {"BP_BACKEND=" + c.backend}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.out() << bprun.err();
  EXPECT_GE(strangers.ports(), 1);
  EXPECT_GE(strangers.connections(), c.connections);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    StrangersTest,
    testing::Values(
        Case{"Gloo", "localhost:4", "gloo", Strangers::Mode::silent, 1},
        Case{"GlooNative", "localhost:3", "gloo-native", Strangers::Mode::slow, 50},
        Case{"Shm", "localhost:3", "shm", Strangers::Mode::silent, 50},
        Case{"TwoHosts", "localhost:2,127.0.0.1:2", "auto", Strangers::Mode::replay, 50},
        Case{"Garbage", "localhost:2,127.0.0.1:1", "auto", Strangers::Mode::garbage, 50}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace bp::test
