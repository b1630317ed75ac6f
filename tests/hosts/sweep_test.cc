// A sweep on hosts of their own: one login each, a cut cable, and a batch job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/text.h"
#include "tests/hosts/hosts.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using testing::HasSubstr;
using SweepOnHosts = HostsTest;

// The trials on the lost host cannot finish before its agents have ended them, because they wait
// for a file.
// docs/features.md, Searches: A search resumed, also after `kill -9` or a lost host | the same
// command
TEST_F(SweepOnHosts, ACutCableGivesTrialsBackAndTheHostReturns) {
  const std::string work = hosts().folder() + "/work";
  std::ofstream(work + ".yaml") << "parameters: {i: {range: [1, 6, 1]}}\n";
  const std::string script =
      concat("echo $0 on $BP_HOST_NAMES; [ $BP_HOST_NAMES = b ] || while [ ! -e ", work,
             ".up ]; do sleep 0.1; done; echo $0 >>", work, ".done");
  BprunProcess sweep = run({"sweep", work + ".yaml", "--folder", work, "-H", "a:2,b:1", "--", "sh",
                            "-c", script, "{i}"});
  ASSERT_TRUE(sweep.wait_for("2 run on 2 of 3 slots")) << sweep.err();
  hosts().at("head", "ip link set dev a down");
  ASSERT_TRUE(sweep.wait_for("host a is lost (")) << sweep.err();
  hosts().at(
      "a", "for i in $(seq 200); do pgrep -x bprun >/dev/null || exit 0; sleep 0.1; done; exit 1");
  hosts().at("head", "ip link set dev a up");
  std::ofstream(work + ".up") << "";
  EXPECT_EQ(sweep.finish(), 0) << sweep.err();
  EXPECT_THAT(sweep.err(), HasSubstr("6 of 6 trials ended; "));
  std::istringstream done(read_file(work + ".done"));
  std::multiset<int> numbers;
  for (int number = 0; done >> number;) numbers.insert(number);
  EXPECT_EQ(numbers, (std::multiset<int>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace bp::test
