// Agents behind ssh, on two hosts of the fixture: h1 and h2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "launcher/process/shell_words.h"
#include "launcher/protocol/hello.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/e2e/launcher/ssh_fixture.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Both names of the fixture lead to this machine.
std::string one_machine() {
  return concat("bprun: warning: h1, h2 are one machine (", launcher::own_host_name(),
                "); name it once, with all its ranks, unless you mean that\n");
}

// docs/features.md, Launching: A start over ssh from one machine, and a dry run | `bprun -H`,
// `--dry-run`
TEST_F(SshTest, RanksOfTwoHostsConnectToTheStore) {
  BprunProcess bprun = run({"-H", "h1:2,h2:1", rank_program(), "join", "done"});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out() + bprun.err(), one_machine());
}

TEST_F(SshTest, DoctorNamesTheHostsThatAreOneMachine) {
  BprunProcess bprun = run({"doctor", "-H", "h1,h2"});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr(concat("  warn  names    h1, h2 are one machine (",
                                            launcher::own_host_name(),
                                            ")\n                 fix: name it once, ")));
}

TEST_F(SshTest, NoShellInterpretsTheArguments) {
  // Each rank prints two lines. bprun keeps lines whole, but does not order the ranks.
  BprunProcess bprun =
      run({"-H", "h1:1,h2:1", "printf", "%s|%s|%s|%s|\n", "a  b", "$HOME", "'", "\"\n"});
  EXPECT_EQ(bprun.finish(), 0);
  std::istringstream out(bprun.out());
  std::vector<std::string> lines;
  for (std::string line; std::getline(out, line);) lines.push_back(line);
  EXPECT_THAT(lines,
              UnorderedElementsAre("[0] a  b|$HOME|'|\"", "[0] |", "[1] a  b|$HOME|'|\"", "[1] |"));
}

TEST_F(SshTest, ARankThatFailsIsNamedWithItsHost) {
  BprunProcess bprun = run({"-H", "h1:2,h2:1", rank_program(), "exit", "2", "7"});
  EXPECT_EQ(bprun.finish(), 7) << bprun.err();
  EXPECT_THAT(
      bprun.err(),
      ContainsRegex("bprun: FAILED  rank 2 on h2 \\(local rank 0, pid [0-9]+\\) exited with "
                    "code 7 after "));
  EXPECT_THAT(bprun.err(), HasSubstr("; ranks 0,1 were stopped by bprun"));
  EXPECT_EQ(bprun.marked(), 0);
}

TEST_F(SshTest, SigkillOfBprunLeavesNoProcess) {
  BprunProcess bprun = run({"-H", "h1:1,h2:1", rank_program(), "family"});
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  ASSERT_TRUE(bprun.wait_for("[1] ready\n"));
  EXPECT_GE(bprun.marked(), 8);
  bprun.signal(SIGKILL);
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST_F(SshTest, AHostThatRefusesConnectionsIsNamed) {
  h2_->stop();
  BprunProcess bprun = run({"-H", "h1:2,h2:1", rank_program(), "pause"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(
      bprun.first_error_line(),
      ContainsRegex(
          "^bprun: FAILED  host h2 could not be reached: ssh: connect to host 127\\.0\\.0\\.1 port "
          "[0-9]+: Connection refused$"));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: no sshd listens there"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

// docs/acceptance.md, Networks: An ssh key that a host does not accept is explained.
TEST_F(SshTest, AWrongKeyIsExplained) {
  write_file(folder() + "/key.pub", "");
  BprunProcess bprun = run({"-H", "h1:1", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(), HasSubstr("host h1 could not be reached"));
  EXPECT_THAT(bprun.first_error_line(), HasSubstr("Permission denied (publickey"));
  EXPECT_THAT(bprun.err(), HasSubstr("hint: bprun needs a login without password"));
}

// docs/acceptance.md, Networks: A host that lacks bprun is explained.
TEST_F(SshTest, AMissingBprunIsExplained) {
  BprunProcess bprun = run({"-H", "h1:1", "--remote-bprun", "/no such/bprun", "true"});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(), HasSubstr("there is no /no such/bprun on h1: "));
}

TEST(FakeSsh, OutputOfTheRemoteShellDoesNoHarm) {
  BprunProcess bprun(
      {{"--ssh", fake_ssh("echo Welcome; echo news >&2"), "-H", "a:1,b:1", "echo", "hi"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), testing::AnyOf("[0] hi\n[1] hi\n", "[1] hi\n[0] hi\n"));
  EXPECT_EQ(bprun.err(), "");
}

// docs/acceptance.md, Networks: A host that does not answer is named.
TEST(FakeSsh, AHostThatDoesNotAnswerIsNamedInTime) {
  const auto start = std::chrono::steady_clock::now();
  BprunProcess bprun(
      {{"--ssh", "sh -c 'exec sleep 1000'", "--start-timeout", "300ms", "-H", "a:1,b:1", "true"}});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s) << "a quiet machine takes 0.5 s";
  EXPECT_EQ(bprun.err(),
            "bprun: FAILED  host a gave no answer within 0.3 s (--start-timeout)\n"
            "  host b gave no answer within 0.3 s (--start-timeout)\n");
  EXPECT_EQ(bprun.marked(), 0);
}

TEST(FakeSsh, ABrokenConnectionLosesTheHost) {
  BprunProcess bprun({{"--ssh", fake_ssh("echo $$ >&2"), "-H", "localhost:1,far:1", "sh", "-c",
                       "if [ $RANK = 1 ]; then kill -9 $PPID; fi; exec sleep 1000"}});
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: FAILED  host far was lost ("));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  rank 1 was on that host\n"));
  EXPECT_THAT(bprun.err(), HasSubstr("; rank 0 was stopped by bprun (SIGTERM, "));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(FakeSsh, AMapWithoutThisMachineIsRemarkedOn) {
  const Scratch folder;
  const std::string map = folder.write("map.json", "\xEF\xBB\xBF{\"far\": 1}");
  BprunProcess bprun({{"--ssh", fake_ssh(":"), "--hosts", map, "echo", "hi"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out(), "[0] hi\n");
  EXPECT_EQ(bprun.err(), concat("bprun: no rank runs on this machine: ", map,
                                " does not name it (\"localhost\": N does)\n"));
}

// Editors of some systems mark a text as UTF-8.
TEST(Hostfile, MayBeginWithAByteOrderMark) {
  const Scratch folder;
  const std::string file = folder.write("hosts", "\xEF\xBB\xBFlocalhost slots=2\n");
  BprunProcess bprun({{"--hostfile", file, "echo", "hi"}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.out(), testing::AnyOf("[0] hi\n[1] hi\n", "[1] hi\n[0] hi\n"));
}

// While bprun is stopped, it hears nothing of the host for longer than a host may be silent.
TEST(FakeSsh, CtrlZLosesNoHost) {
  BprunProcess bprun(
      {{"--ssh", fake_ssh(":"), "-H", "localhost:1,far:1", rank_program(), "pause"}});
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  ASSERT_TRUE(bprun.wait_for("[1] ready\n"));
  bprun.signal(SIGTSTP);
  ASSERT_TRUE(bprun.wait_until_stopped(3)) << "bprun and both ranks must stop, but no agent";
  ::sleep(10);
  bprun.signal(SIGCONT);
  ASSERT_TRUE(bprun.wait_until_stopped(0));
  ::sleep(2);
  bprun.signal(SIGTERM);
  EXPECT_EQ(bprun.finish(), 128 + SIGTERM);
  EXPECT_THAT(bprun.err(), testing::Not(HasSubstr("lost")));
}

// The agents look for bprun at the job's store meanwhile, where nothing answers, and give up.
TEST(FakeSsh, AgentsThatLookForAStoppedBprunAreNoStrangers) {
  BprunProcess bprun(
      {{"--ssh", fake_ssh(":"), "-H", "localhost:1,far:1", rank_program(), "pause"}});
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  ASSERT_TRUE(bprun.wait_for("[1] ready\n"));
  bprun.signal(SIGSTOP);
  ::sleep(8);  // below --lost-after, and longer than the first look takes
  bprun.signal(SIGCONT);
  ::sleep(2);
  bprun.signal(SIGTERM);
  EXPECT_EQ(bprun.finish(), 128 + SIGTERM);
  EXPECT_THAT(bprun.err(), testing::Not(HasSubstr("refused")));
}

TEST(FakeSsh, AMissingSshIsReported) {
  BprunProcess bprun({{"--ssh", "/no/such/ssh", "-H", "a:1", "true"}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_EQ(bprun.err(), "bprun: cannot run /no/such/ssh: there is no /no/such/ssh\n");
}

}  // namespace
}  // namespace bp::test
