// Machines that join a job with bprun --join, each with its own address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "base/text.h"
#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class JoiningHosts : public HostsTest {
 protected:
  void SetUp() override {
    HostsTest::SetUp();
    if (IsSkipped()) return;
    key_ = hosts().folder() + "/join.key";
    std::ofstream(key_) << "a secret that all know";
    std::filesystem::permissions(key_, std::filesystem::perms::owner_read);
  }
  [[nodiscard]] BprunProcess run_on(const std::string& host,
                                    std::vector<std::string> arguments) const {
    return BprunProcess({.arguments = std::move(arguments),
                         .environment = {"BP_JOB_KEY_FILE=" + key_},
                         .before = hosts().on(host)});
  }
  // Waits until the server prints its address, "head:PORT", and returns it.
  static std::string address_of(BprunProcess& server) {
    EXPECT_TRUE(server.wait_for("--slots N")) << server.err();
    std::istringstream words(server.err().substr(server.err().find("--join ") + 7));
    std::string address;
    words >> address;
    return address;
  }
  std::string key_;
};

TEST_F(JoiningHosts, ConnectByTheAddressesFromWhichTheyJoined) {
  BprunProcess server = run_on("head", {"--serve", "0", "-n", "4", "--slots", "0", "sh", "-c",
                                        concat(rank_program(), " traced && echo on $(hostname)")});
  const std::string address = address_of(server);
  BprunProcess c = run_on("c", {"--join", address, "--slots", "1", "--first-rank", "3"});
  BprunProcess a = run_on("a", {"--join", address, "--slots", "3"});
  EXPECT_EQ(server.finish(), 0) << server.err();
  EXPECT_EQ(a.finish(), 0) << a.err();
  EXPECT_EQ(c.finish(), 0) << c.err();
  for (const char* line : {"[0] on a\n", "[1] on a\n", "[2] on a\n", "[3] on c\n"}) {
    EXPECT_THAT(server.out(), HasSubstr(line));
  }
}

// docs/acceptance.md, Other engines: A lost machine ends the job on both sides.
TEST_F(JoiningHosts, ACutCableIsReportedOnBothSides) {
  BprunProcess server =
      run_on("head", {"--serve", "0", "-n", "3", "--slots", "0", rank_program(), "work"});
  const std::string address = address_of(server);
  BprunProcess b = run_on("b", {"--join", address, "--first-rank", "0"});
  BprunProcess c = run_on("c", {"--join", address, "--slots", "2", "--first-rank", "1"});
  for (const char* working : {"[0] working\n", "[1] working\n", "[2] working\n"}) {
    ASSERT_TRUE(server.wait_for(working)) << server.err();
  }
  hosts().at("head", "ip link set dev c down");
  EXPECT_EQ(server.finish(), 75) << server.err();
  EXPECT_THAT(server.err(), HasSubstr("bprun: FAILED  host c was lost (silent for 9.0 s) after "));
  EXPECT_EQ(b.finish(), 75);
  EXPECT_THAT(b.err(), HasSubstr("bprun: FAILED  host c was lost (silent for 9.0 s)\n"));
  EXPECT_EQ(c.finish(), 75);
  EXPECT_THAT(c.err(), HasSubstr(concat("bprun: lost bprun at ", address,
                                        ": nothing came from it for 9.0 s, not even by ")));
  EXPECT_THAT(hosts().processes_at_last("c"), IsEmpty());
}

}  // namespace
}  // namespace bp::test
