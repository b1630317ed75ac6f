// A job that loses a host, restarts without it, and uses it again after the next restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/text.h"
#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using testing::HasSubstr;
using RestartOnHosts = HostsTest;

// docs/acceptance.md, Recovery and restarts: A lost host is left out until it can be reached again.
TEST_F(RestartOnHosts, AHostWhoseCableIsCutIsLeftOutUntilItIsReachableAgain) {
  const std::string enough = concat(hosts().folder(), "/enough");
  const std::string program = concat(
      "echo $BP_GENERATION: $RANK of $WORLD_SIZE on $BP_HOST_NAMES; "
      "[ $BP_GENERATION = 2 ] && exec ",
      rank_program(), " join done; while [ ! -e ", enough, " ]; do sleep 0.1; done; exit 5");
  BprunProcess bprun =
      run({"-H", "c:1,a:2,b:1", "--max-restarts", "2", "--min-ranks", "3", "sh", "-c", program});
  ASSERT_TRUE(bprun.wait_for("[0] 0: 0 of 4 on c,a,b\n"));
  hosts().at("head", "ip link set dev c down");
  ASSERT_TRUE(bprun.wait_for("bprun: restart 1 of 2 in 10.0 s, with 4 ranks on c:1,a:2,b:1\n"));
  ASSERT_TRUE(bprun.wait_for("bprun: continues with 3 ranks on a:2,b:1\n")) << bprun.err();
  ASSERT_TRUE(bprun.wait_for("[2] 1: 2 of 3 on a,b\n"));
  hosts().at("head", "ip link set dev c up");
  std::ofstream(enough) << "";
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: FAILED  host c was lost (silent for 9.0 s) after "));
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: FAILED  host c could not be reached: "));
  EXPECT_THAT(bprun.out(), HasSubstr("[0] 2: 0 of 4 on c,a,b\n"));
  EXPECT_THAT(bprun.err(),
              HasSubstr("\n  generation 2, 4 ranks on c:1,a:2,b:1: ended with code 0\n"));
}

}  // namespace
}  // namespace bp::test
