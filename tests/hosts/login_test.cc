// Logins that sshd refuses for a while, and shells that do not start bprun's agent.
// tests/hosts/faults has the other faults of this kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/text.h"
#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using testing::HasSubstr;

class LoginOnHosts : public HostsTest {
 protected:
  // Sets what a login shell on each host runs first.
  void set_rc_file(const std::string& text) const {
    std::ofstream(hosts().folder() + "/bashrc") << text << '\n';
  }
};

// docs/acceptance.md, Networks: An sshd at its limit of logins is tried again.
TEST_F(LoginOnHosts, IsRetriedWhileSshdTakesNoMoreLogins) {
  const std::string config = hosts().folder() + "/sshd_config";
  hosts().at("b", concat("pkill -x sshd; echo 'MaxStartups 1:100:1' >>", config,
                         "; /usr/sbin/sshd -f ", config, " -h ", hosts().folder(), "/b.key"));
  // sshd now takes one login at a time, and this connection, which sends nothing, holds it for 1.5
  // s.
  hosts().at("head",
             "bash -c 'exec 9<>/dev/tcp/b/22; read -r -u 9; sleep 1.5' >/dev/null 2>&1 & "
             "sleep 0.3");
  BprunProcess bprun = run({"-H", "a:1,b:1", "hostname"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.out(), HasSubstr("[1] b\n"));
  EXPECT_EQ(bprun.err(), "");
}

// docs/acceptance.md, Networks: A login shell that exits is reported as that.
TEST_F(LoginOnHosts, AShellThatEndsIsNotReportedAsAnUnreachableHost) {
  set_rc_file("exit 3");
  BprunProcess bprun = run({"-H", "a:1", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_EQ(
      bprun.first_error_line(),
      "bprun: FAILED  ssh logged in to a, but the shell there did not start bprun's agent: exited "
      "with code 3");
  EXPECT_THAT(bprun.err(),
              HasSubstr("\n  hint: what a login shell reads there first (~/.bashrc, "));
}

// docs/acceptance.md, Networks: A login shell that reads bprun's input is reported.
TEST_F(LoginOnHosts, AShellThatConsumesInputMeantForBprunIsReported) {
  set_rc_file("cat >/dev/null");
  BprunProcess bprun = run({"--start-timeout", "2s", "-H", "a:1", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_EQ(bprun.first_error_line(),
            "bprun: FAILED  host a gave no answer within 2.0 s (--start-timeout), although ssh "
            "logged in: the shell there hangs, or reads the input that is meant for bprun");
}

}  // namespace
}  // namespace bp::test
