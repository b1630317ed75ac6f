// Texts that bprun prints, and the words of the commands that it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/options/variable_rows.h"
#include "base/quoted.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/ssh_command.h"
#include "launcher/failure/host_texts.h"
#include "launcher/failure/rank_texts.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/plan/one_machine.h"
#include "launcher/plan/rank_environment.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/shell_words.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/failure_report.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(ShellWords, SplitAsAShellDoes) {
  EXPECT_THAT(split_shell_words("ssh -F 'my file' -o \"A=b c\""),
              ElementsAre("ssh", "-F", "my file", "-o", "A=b c"));
  EXPECT_THAT(split_shell_words("  a\\ b\t'' \"\\\"\\x\" c''d "),
              ElementsAre("a b", "", "\"\\x", "cd"));
  EXPECT_THAT(split_shell_words(" "), IsEmpty());
  EXPECT_THROW((void)split_shell_words("a 'b"), Error);
  EXPECT_THROW((void)split_shell_words("\""), Error);
}

TEST(ShellWords, QuotingIsUndoneBySplitting) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) {
    every_byte += static_cast<char>(byte);
  }
  for (const std::string& word :
       {std::string(""), std::string("plain-1.0/x"), std::string("a b"), every_byte}) {
    EXPECT_THAT(split_shell_words(quote_shell_word(word)), ElementsAre(word));
  }
  EXPECT_EQ(quote_shell_word("/usr/bin/x"), "/usr/bin/x");
  EXPECT_EQ(quote_shell_word("it's"), "'it'\\''s'");
}

GreetedHost greeted(const std::string& name, const std::string& machine, const std::string& own) {
  GreetedHost host{
      .name = name, .start = {.local = false, .bprun = "", .command = {}}, .hello = {}};
  host.hello.machine = machine;
  host.hello.host_name = own;
  host.hello.server_address = "10.0.0.1";
  return host;
}

TEST(OneMachine, IsNamedWithAllItsNames) {
  EXPECT_THAT(names_of_one_machine({greeted("h1", "1", "ada"), greeted("h2", "2", "bob"),
                                    greeted("H1", "1", "ada"), greeted("h1.lan", "1", "ada")}),
              ElementsAre("h1, H1, h1.lan are one machine (ada)"));
  // two containers, whose kernel is the same
  EXPECT_THAT(names_of_one_machine({greeted("h1", "1", "pod-0"), greeted("h2", "1", "pod-1")}),
              IsEmpty());
  // two logical hosts without ssh
  std::vector<GreetedHost> meant{greeted("localhost", "1", "ada"),
                                 greeted("127.0.0.1", "1", "ada")};
  meant[0].start.local = meant[1].start.local = true;
  EXPECT_THAT(names_of_one_machine(meant), IsEmpty());
  meant[1].start.local = false;
  EXPECT_THAT(names_of_one_machine(meant), SizeIs(1));
  meant[1].start.joined = true;
  EXPECT_THAT(names_of_one_machine(meant), IsEmpty());
}

TEST(SshCommand, PutsTheUsersOptionsFirst) {
  Host host;
  host.name = "h1";
  EXPECT_THAT(
      agent_command({"/usr/bin/ssh", "-F", "f"}, host, "/opt/my bp/bprun", 9s),
      ElementsAre("/usr/bin/ssh", "-F", "f", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
                  "ServerAliveInterval=3", "-o", "ServerAliveCountMax=9", "-o", "LogLevel=VERBOSE",
                  "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none", "-o", "StdinNull=no",
                  "-T", "h1", "'/opt/my bp/bprun' --agent"));
  host.port = 2222;
  host.user = "u";
  EXPECT_THAT(agent_command({"rsh-wrapper"}, host, "/b", 9s),
              ElementsAre("rsh-wrapper", "-p", "2222", "-l", "u", "h1", "/b --agent"));
}

TEST(Report, RanksArePrintedAsRanges) {
  EXPECT_EQ(rank_ranges({0, 1, 3}), "0,1,3");
  EXPECT_EQ(rank_ranges({0, 1, 2, 5, 7, 8, 9}), "0-2,5,7-9");
  EXPECT_EQ(rank_ranges({}), "");
}

TEST(Report, FitsOnOneScreen) {
  FailureReport report;
  report.failure.exit_code = 7;
  report.failure.rank = 2;
  report.failure.headline = "rank 2 on h2 (local rank 0, pid 4711) exited with code 7";
  report.failure.hint = "out of memory: a smaller --batch";
  report.when = std::chrono::system_clock::time_point{} + 36h + 412ms;
  report.after = 12min + 41s;
  report.stopped = {0, 1, 3};
  report.stop_signal = "SIGTERM";
  report.stop_took = 400ms;
  report.under_way = {{0, "collective 7 of world: barrier"},
                      {1, "collective 7 of world: barrier"},
                      {3, "collective 6 of world: barrier"}};
  report.last_errors = {"one", "two"};
  report.error_file = "out/rank.2/stderr";
  report.next = "run again: bprun x";
  const std::string text = format_report(report);
  EXPECT_EQ(
      text,
      "bprun: FAILED  rank 2 on h2 (local rank 0, pid 4711) exited with code 7 after 00:12:41\n"
      "  first failure: " +
          date_and_time(report.when) +
          "; ranks 0,1,3 were stopped by bprun (SIGTERM, 0.4 s)\n"
          "  rank 3 was in collective 6 of world: barrier\n"
          "  ranks 0,1 were in collective 7 of world: barrier\n"
          "  last stderr of rank 2:\n"
          "    | one\n"
          "    | two\n"
          "  hint: out of memory: a smaller --batch\n"
          "  logs: out/rank.2/stderr\n"
          "  run again: bprun x");
  EXPECT_EQ(date_and_time(report.when).substr(19), ".412");
}

TEST(Texts, SayHowARankEnded) {
  EXPECT_EQ(describe_status(7 << 8), "exited with code 7");
  EXPECT_EQ(describe_status(11), "was killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(describe_status(11 | 0x80), "was killed by signal 11 (SIGSEGV)")
      << "the status of a process that left a core file";
  EXPECT_EQ(exit_code_of(7 << 8), 7);
  EXPECT_EQ(exit_code_of(11), 139);
}

TEST(Texts, SayWhatARankReportedToTheStore) {
  using Kind = RootCause::Kind;
  const auto headline = [](const RootCause& root_cause) {
    return failure_of(root_cause, "rank 1 on a").headline;
  };
  RootCause root_cause;
  root_cause.rank = 1;
  root_cause.kind = Kind::lost_store;
  EXPECT_EQ(headline(root_cause),
            "rank 1 on a closed its connection to the job's store, but kept running");
  root_cause.kind = Kind::declared;
  root_cause.declared = "no data";
  EXPECT_EQ(headline(root_cause), "rank 1 on a declared the job failed: no data");
  RootCause follows;
  follows.kind = Kind::consequence;
  follows.because_of = 2;
  EXPECT_EQ(headline(follows), "rank 1 on a gave up because of rank 2, which still ran");
  EXPECT_EQ(failure_of(follows, "rank 1 on a").exit_code, kExitInternal);
  follows.status = 7 << 8;
  follows.cause_has_ended = true;
  follows.declared = "timeout";
  EXPECT_EQ(headline(follows),
            "rank 1 on a exited with code 7 because of rank 2, which had ended: timeout");
  EXPECT_EQ(failure_of(follows, "rank 1 on a").exit_code, 7);
  follows.because_of = -1;
  EXPECT_EQ(headline(follows),
            "rank 1 on a exited with code 7 because it lost the job's store: timeout");
}

TEST(Texts, SayWhyAHostIsUnreachable) {
  LinkLoss loss;
  loss.status = 255 << 8;
  loss.errors = {"u@h1: Permission denied (publickey)."};
  Failure failure = unreachable("h1", loss, "/b/bprun");
  EXPECT_EQ(failure.exit_code, 75);
  EXPECT_EQ(failure.headline, "host h1 could not be reached: u@h1: Permission denied (publickey).");
  EXPECT_EQ(failure.hint, "bprun needs a login without password: ssh-copy-id to that host");

  loss.errors = {"Offending ED25519 key in /home/eve/.ssh/known_hosts:2", "  remove with:",
                 "Host key for h1 has changed and you have requested strict checking.",
                 "Host key verification failed."};
  failure = unreachable("h1", loss, "/b/bprun");
  EXPECT_EQ(failure.headline,
            "host h1 could not be reached: Host key for h1 has changed and you have requested "
            "strict checking.");
  EXPECT_EQ(failure.hint, "if that is right, forget the old key: ssh-keygen -R that host");

  loss.status = 127 << 8;
  loss.errors = {"sh: 1: /b/bprun: not found"};
  failure = unreachable("h1", loss, "/b/bprun");
  EXPECT_EQ(failure.headline, "there is no /b/bprun on h1: sh: 1: /b/bprun: not found");
  EXPECT_EQ(failure.hint,
            "install the same build at the same path there, or name it: --remote-bprun PATH");
}

std::string hint_of(const std::string& complaint) {
  LinkLoss loss;
  loss.status = 255 << 8;
  loss.errors = {complaint};
  const Failure failure = unreachable("b", loss, "/b/bprun");
  EXPECT_EQ(failure.headline, "host b could not be reached: " + complaint);
  return failure.hint;
}

TEST(Texts, DistinguishASilentHostFromAnUnknownOne) {
  EXPECT_THAT(hint_of("ssh: Could not resolve hostname b: Temporary failure in name resolution"),
              StartsWith("the name service (DNS) does not answer from here: "));
  EXPECT_THAT(hint_of("ssh: Could not resolve hostname b: Name or service not known"),
              StartsWith("the name is neither in DNS, "));
  EXPECT_THAT(hint_of("Connection timed out during banner exchange"),
              StartsWith("something accepts connections there, but sshd does not answer: "));
  EXPECT_THAT(hint_of("ssh: connect to host b port 22: Connection timed out"),
              StartsWith("the host is down, or a firewall "));
  EXPECT_THAT(hint_of("kex_exchange_identification: Connection closed by remote host"),
              StartsWith("sshd there takes no more logins at a time: "));
}

TEST(Texts, SayThatTheLoginSucceededButTheShellDidNotStartBprun) {
  LinkLoss loss{.let_in = true, .status = 3 << 8};
  const Failure failure = unreachable("b", loss, "/b/bprun");
  EXPECT_EQ(failure.exit_code, 75);
  EXPECT_EQ(
      failure.headline,
      "ssh logged in to b, but the shell there did not start bprun's agent: exited with code 3");
  EXPECT_THAT(failure.hint, HasSubstr("ssh b true must do nothing"));
  loss.status = 0;  // --remote-bprun names another program
  EXPECT_THAT(unreachable("b", loss, "/bin/true").hint,
              StartsWith("is /bin/true on b bprun (--remote-bprun)? If so: what a login shell "));
  const Failure late = no_answer("b", true, 30s);
  EXPECT_EQ(late.headline,
            "host b gave no answer within 30.0 s (--start-timeout), although ssh logged in: the "
            "shell there hangs, or reads the input that is meant for bprun");
  EXPECT_EQ(late.hint, failure.hint);
  EXPECT_EQ(no_answer("b", false, 30s).hint, "");
}

TEST(Texts, SummarizeTheSameFailureOfManyHosts) {
  std::vector<std::pair<std::string, Failure>> failures;
  for (int host = 100; host < 395; ++host) {
    const std::string name = concat("n", host);
    failures.emplace_back(name, Failure{.headline = concat("host ", name, ": refused")});
  }
  failures.insert(failures.begin() + 1, {"m1", Failure{.headline = "host m1: no route"}});
  failures.insert(failures.begin() + 2, {"m2", Failure{.headline = "host m2: no route"}});
  EXPECT_THAT(others_like(failures),
              ElementsAre("the same holds for 294 other hosts: n101, n102, n103, ..., n394",
                          "host m1: no route", "the same holds for 1 other host: m2"));
}

TEST(Texts, SayWhatIsKnownOfALostHost) {
  AgentStart by_ssh;
  by_ssh.local = false;
  LinkLoss loss{.before_hello = false};
  EXPECT_EQ(lost_after_hello("b", loss, by_ssh).headline,
            "host b was lost (its agent ended without a message, and ssh exited with code 0)");
  AgentStart by_srun = by_ssh;
  by_srun.srun = true;
  loss.status = 9;
  EXPECT_EQ(lost_after_hello("b", loss, by_srun).headline,
            "host b was lost (its agent ended without a message, and srun was killed by signal 9 "
            "(SIGKILL))");
  loss.errors = {"slurmstepd-b: error: *** STEP 7.1 ON b CANCELLED AT 2026-11-20T18:58:39 ***"};
  EXPECT_EQ(lost_after_hello("b", loss, by_srun).hint, "scancel has ended the job or its step");
  loss.errors = {"slurmstepd: error: *** JOB 7 ON b CANCELLED AT 2026 DUE TO TIME LIMIT ***"};
  EXPECT_EQ(lost_after_hello("b", loss, by_srun).hint,
            "Slurm's time limit (--time) has ended the job or its step");
  const LinkLoss told{.before_hello = false, .last_word = "received SIGTERM"};
  EXPECT_EQ(lost_after_hello("b", told, by_ssh).headline,
            "host b was lost (its agent received SIGTERM)");
  const LinkLoss silent{.before_hello = false, .problem = "silent for 9.0 s", .silent = true};
  const Failure failure = lost_after_hello("b", silent, by_ssh);
  EXPECT_EQ(failure.headline, "host b was lost (silent for 9.0 s)");
  EXPECT_THAT(failure.more,
              ElementsAre("nothing came from it over ssh, nor over a connection of its "
                          "own to the job's store"));
  EXPECT_THAT(failure.hint, HasSubstr("--lost-after 30s waits longer"));
  AgentStart local = by_ssh;
  local.local = true;
  EXPECT_EQ(lost_after_hello("b", {.before_hello = false, .status = SIGKILL}, local).exit_code, 75);
  EXPECT_EQ(lost_after_hello("b", {.before_hello = false, .status = SIGSEGV}, local).exit_code, 70);
  EXPECT_EQ(lost_after_hello("b", told, local).exit_code, 75);
  const Failure stopped = lost_after_hello("b", silent, local);
  EXPECT_EQ(stopped.exit_code, 75);
  EXPECT_THAT(stopped.more, IsEmpty());
  EXPECT_EQ(stopped.hint, "bprun's agent there is stopped or hangs; --lost-after 30s waits longer");
}

TEST(Texts, HintAtALimitThatStopsAStart) {
  const StartFailed message{-1, 70, "cannot make a pipe: Too many open files"};
  EXPECT_EQ(failure_of(message, "b", "prog").hint,
            "the limit of open files is too low (ulimit -n)");
}

TEST(Texts, RefuseAnotherVersion) {
  Hello own_hello;
  own_hello.version = "0.2.0";
  own_hello.build = "abc";
  Hello other_hello = own_hello;
  EXPECT_EQ(version_trouble("h1", other_hello, own_hello), "");
  other_hello.version = "0.1.0";
  other_hello.build = "def";
  EXPECT_EQ(version_trouble("h1", other_hello, own_hello),
            "host h1 has bprun 0.1.0 (build def), but this machine has 0.2.0 (build abc): install "
            "the same version on both");
}

TEST(Quoting, EscapesControlCharactersAndInvalidUtf8Only) {
  EXPECT_EQ(printable("plain, \xc3\xa4 and \xf0\x9f\x98\x80\n\ttoo"),
            "plain, \xc3\xa4 and \xf0\x9f\x98\x80\n\ttoo");
  EXPECT_EQ(printable("\x1b[31m\r\a\x7f"), "\\x1b[31m\\x0d\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \x9b"),
            "\\xc2\\x9b2J \\x9b")
      << "U+009B is a CSI of one character";
  EXPECT_EQ(printable("\xc3(\xf0\x9f"), "\\xc3(\\xf0\\x9f") << "invalid UTF-8";
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xe0\x80\x9b[2J"), "\\xe0\\x80\\x9b[2J")
      << "an overlong form in three bytes";
  EXPECT_EQ(printable("\xf0\x80\x80\x9b"), "\\xf0\\x80\\x80\\x9b")
      << "an overlong form in four bytes";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "a value beyond U+10FFFF";
  for (const char* limit : {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80",
                            "\xf4\x8f\xbf\xbf", "\xc2\xa0", "\xdf\xbf"}) {
    EXPECT_EQ(printable(limit), limit);
  }
}

TEST(Quoting, IsOneLineOfBoundedLength) {
  EXPECT_EQ(quoted_line("one\ntwo"), "one\\ntwo");
  EXPECT_EQ(quoted_line("0123456789", 10), "0123456789");
  EXPECT_EQ(quoted_line("0123456789ab", 8), "012345 [... 4 bytes left out ...] ab");
  EXPECT_EQ(quoted_line("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 4),
            "\xc3\xa4 [... 8 bytes left out ...] ")
      << "the cut is between characters";
  EXPECT_EQ(quoted_lines({"a", "\x1b"}), (std::vector<std::string>{"a", "\\x1b"}));
}

TEST(Texts, ElapsedTimeIsShort) {
  EXPECT_EQ(elapsed_text(440ms), "0.4 s");
  EXPECT_EQ(elapsed_text(30s), "30.0 s");
  EXPECT_EQ(elapsed_text(25h + 61s), "25:01:01");
}

}  // namespace
}  // namespace bp::launcher
