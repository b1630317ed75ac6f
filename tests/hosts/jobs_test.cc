// Jobs on several hosts that go well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using testing::UnorderedElementsAre;
using JobOnHosts = HostsTest;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(JobOnHosts, RanksAreWhereTheyWereAskedFor) {
  BprunProcess bprun = run({"-H", "a:3,b:1", "hostname"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(lines_of(bprun.out()), UnorderedElementsAre("[0] a", "[1] a", "[2] a", "[3] b"));
}

// A hundred sums, each compared with what it has to be.
TEST_F(JobOnHosts, RanksReduceOverTheNetwork) {
  for (const char* hosts : {"a:3,b:1", "a:1,b:2,c:3"}) {
    BprunProcess bprun = run({"-H", hosts, rank_program(), "recover"});
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    EXPECT_EQ(bprun.err(), "");
  }
}

}  // namespace
}  // namespace bp::test
