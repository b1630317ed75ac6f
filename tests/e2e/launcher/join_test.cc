// bprun --serve and machines that join by bprun --join. All of them are this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/deadline.h"
#include "base/text.h"
#include "comm/store/socket.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Words = std::vector<std::string>;

class JoinTest : public testing::Test {
 protected:
  JoinTest() { write_key("key", "a secret that both know"); }

  void write_key(const std::string& name, const std::string& secret, mode_t mode = 0600) const {
    ::chmod(scratch_.write(name, secret).c_str(), mode);
  }
  [[nodiscard]] BprunInput with_key(Words words, const std::string& key = "key") const {
    BprunInput input{std::move(words), "", environment_};
    input.environment.push_back("BP_JOB_KEY_FILE=" + folder_ + "/" + key);
    return input;
  }

  // Starts the server and waits for its port.
  void serve(Words words) {
    words.insert(words.begin(), {"--serve", "0"});
    server_.emplace(with_key(std::move(words)));
    ASSERT_TRUE(server_->wait_for("serving on port ")) << server_->err();
    ASSERT_TRUE(server_->wait_for("; on each other machine")) << server_->err();
    std::istringstream text(server_->err().substr(server_->err().find("port ") + 5));
    text >> port_;
  }
  [[nodiscard]] std::string address() const { return concat("127.0.0.1:", port_); }
  [[nodiscard]] BprunProcess join(Words words, const std::string& key = "key") const {
    words.insert(words.begin(), {"--join", address()});
    return BprunProcess(with_key(std::move(words), key));
  }
  [[nodiscard]] std::vector<std::string> dump_of(int rank) const {
    std::ifstream file(concat(folder_, "/dump.", rank), std::ios::binary);
    std::vector<std::string> entries;
    for (std::string entry; std::getline(file, entry, '\0');) entries.push_back(entry);
    return entries;
  }

  const Scratch scratch_;
  const std::string folder_ = scratch_.path();
  Words environment_;  // of all processes, in addition to the key
  std::optional<BprunProcess> server_;
  int port_ = 0;
};

// docs/acceptance.md, Other engines: Machines that join with `--join` get their ranks in the order
// of joining.
TEST_F(JoinTest, RanksAreInTheOrderOfJoining) {
  serve({"-n", "4", "--slots", "1", rank_program(), "dump", folder_ + "/dump"});
  BprunProcess first = join({"--slots", "2"});
  ASSERT_TRUE(server_->wait_for("3 of 4 ranks are present")) << server_->err();
  BprunProcess second =
      join({"--slots", "1", "-n", "4", "--", rank_program(), "dump", folder_ + "/dump"});
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_EQ(first.finish(), 0) << first.err();
  EXPECT_EQ(second.finish(), 0) << second.err();
  EXPECT_THAT(first.err(),
              HasSubstr(concat("bprun: joined ", address(),
                               ", which prints the output of ranks 1,2 of this machine\n")));
  EXPECT_THAT(second.err(), HasSubstr("which prints the output of rank 3 of this machine\n"));
  const auto entries = dump_of(2);
  for (const char* entry : {"RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2",
                            "GROUP_RANK=1", "GROUP_WORLD_SIZE=3", "BP_LOCAL_SIZES=1,2,1"}) {
    EXPECT_THAT(entries, testing::Contains(entry));
  }
}

TEST_F(JoinTest, RanksConnectAndTheServerShowsTheirOutput) {
  serve({"-n", "3", "--slots", "1", "sh", "-c",
         concat(rank_program(), " traced && echo rank $RANK is done")});
  BprunProcess machine = join({"--slots", "2"});
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_EQ(machine.finish(), 0) << machine.err();
  for (const char* line :
       {"[0] rank 0 is done\n", "[1] rank 1 is done\n", "[2] rank 2 is done\n"}) {
    EXPECT_THAT(server_->out(), HasSubstr(line));
  }
  EXPECT_EQ(machine.out(), "");
}

TEST_F(JoinTest, AJoinedMachineMayHaveTheFirstRankAndTheServerNone) {
  serve({"-n", "2", "--slots", "0", "sh", "-c", "echo $RANK of $BP_LOCAL_SIZES; cat"});
  BprunProcess last = join({"--first-rank", "1"});
  ASSERT_TRUE(server_->wait_for("1 of 2 ranks are present")) << server_->err();
  BprunProcess first = join({"--first-rank", "0"});
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_THAT(server_->out(), AllOf(HasSubstr("[0] 0 of 1,1\n"), HasSubstr("[1] 1 of 1,1\n")));
  EXPECT_THAT(first.finish(), 0);
  EXPECT_THAT(first.err(), HasSubstr("which prints the output of rank 0 of this machine"));
  EXPECT_THAT(last.finish(), 0);
}

TEST_F(JoinTest, AMachineKeepsItsOwnFolderAndVariables) {
  serve({"-n", "2", "--slots", "0", "--env", "GIVEN=yes", "sh", "-c",
         "echo $OWN $GIVEN $OMP_NUM_THREADS; pwd"});
  BprunInput input = with_key({"--join", address(), "--slots", "2"});
  input.environment.insert(input.environment.end(), {"OWN=mine", "GIVEN=no", "OMP_NUM_THREADS=7"});
  input.before = {"/bin/sh", "-c", "cd " + folder_ + " && exec \"$@\"", "sh"};
  BprunProcess machine(input);
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  // The lines of the two ranks may be mixed.
  for (const std::string& line : {std::string("[1] mine yes 7\n"), "[1] " + folder_ + "\n"}) {
    EXPECT_THAT(server_->out(), HasSubstr(line));
  }
  EXPECT_EQ(machine.finish(), 0);
}

// The server and the joined machines divide the three GPUs of this machine.
class JoinGpusTest : public JoinTest {
 protected:
  JoinGpusTest() {
    const std::string gpu = "NVIDIA A|85899345920|0|0|";
    environment_ = {concat("FAKE_NVML=", gpu, "\n", gpu, "\n", gpu),
                    concat("LD_LIBRARY_PATH=", fake_nvml_folder())};
  }
};

TEST_F(JoinGpusTest, EachMachineGetsItsOwnRequestOrTheServers) {
  serve({"-n", "3", "--gpus", "all", "sh", "-c", "echo rank $RANK has $CUDA_VISIBLE_DEVICES"});
  BprunProcess first = join({"--gpus", "2"});
  ASSERT_TRUE(server_->wait_for("2 of 3 ranks are present")) << server_->err();
  BprunProcess second = join({});
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_THAT(server_->out(),
              AllOf(HasSubstr("[0] rank 0 has 0\n"), HasSubstr("[1] rank 1 has 2\n"),
                    HasSubstr("[2] rank 2 has 1\n")));
  EXPECT_EQ(first.finish(), 0);
  EXPECT_EQ(second.finish(), 0);
}

TEST_F(JoinGpusTest, OnlyMachinesThatRequestGpusAreAssignedAny) {
  serve({"-n", "2", "sh", "-c", "echo rank $RANK has ${CUDA_VISIBLE_DEVICES-all}"});
  BprunProcess machine = join({"--gpus", "least:1"});
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_THAT(server_->out(),
              AllOf(HasSubstr("[0] rank 0 has all\n"), HasSubstr("[1] rank 1 has 0\n")));
  EXPECT_EQ(machine.finish(), 0);
}

TEST_F(JoinGpusTest, AMissingGpuIsNamedAndEndsTheJob) {
  serve({"-n", "2", "--gpus", "0", "true"});
  BprunProcess machine = join({"--gpus", "7"});
  EXPECT_EQ(server_->finish(), 69);
  const std::string why = "host .*#2 has no GPU 7: it has 3 \\(bprun gpus lists them\\)\n";
  EXPECT_THAT(server_->err(), ContainsRegex("bprun: FAILED  " + why));
  EXPECT_EQ(machine.finish(), 69);
  EXPECT_THAT(machine.err(), ContainsRegex("bprun: .*: " + why));
}

TEST_F(JoinTest, ADryRunSaysWhatTheServerWouldWaitFor) {
  const Words words{"--serve", "0", "-n", "4", "--slots", "3", "--dry-run"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    BprunProcess bprun(with_key(all));
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    EXPECT_EQ(bprun.err(), "");
    return bprun.out();
  };
  EXPECT_THAT(
      with({"train", "a b"}),
      ContainsRegex("^program: train 'a b'\nwould serve on port [0-9]+; 3 of 4 ranks are "
                    "present: .* \\(3 slots\\)\nwould wait 30.0 s \\(--start-timeout\\) for 1 "
                    "rank; on each other machine: bprun --join .*:[0-9]+ --slots N\n$"));
  const auto json = nlohmann::json::parse(with({"--json", "train"}));
  EXPECT_EQ(json.at("ranks"), 4);
  EXPECT_EQ(json.at("awaited"), 1);
  EXPECT_EQ(json.at("seconds"), 30.0);
}

TEST_F(JoinTest, ConflictsAreRefusedAndTheServerKeepsWaiting) {
  serve({"-n", "3", "--slots", "1", "--first-rank", "0", "true"});
  const auto refusal = [this](Words words) {
    BprunProcess machine = join(std::move(words));
    EXPECT_EQ(machine.finish(), 2) << machine.err();
    return machine.err();
  };
  EXPECT_THAT(refusal({"--slots", "2", "--first-rank", "0"}),
              ContainsRegex("bprun: .* refuses: .*#2 wants ranks 0-1, but .* has rank 0\n"));
  EXPECT_THAT(refusal({"--slots", "3"}),
              ContainsRegex("#2 has 3 slots, but 1 of 3 ranks are present: .* \\(rank 0\\)\n"));
  EXPECT_THAT(refusal({"--slots", "2", "-n", "4"}),
              ContainsRegex("#2 has -n 4, but .* has -n 3\n"));
  EXPECT_THAT(refusal({"--slots", "2", "false", "a b"}),
              ContainsRegex("#2 would run false 'a b', but .* runs true\n"));
  BprunProcess machine = join({"--slots", "2", "true"});
  EXPECT_EQ(machine.finish(), 0) << machine.err();
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_THAT(server_->err(), HasSubstr("bprun: refused 127.0.0.1: "));
}

TEST_F(JoinTest, AMachineWithoutTheSecretIsRefused) {
  serve({"-n", "2", "true"});
  write_key("other", "another secret, as long");
  BprunProcess stranger = join({}, "other");
  EXPECT_EQ(stranger.finish(), 2);
  EXPECT_EQ(stranger.first_error_line(),
            concat("bprun: cannot join ", address(),
                   ": its secret differs from that in BP_JOB_KEY_FILE here"));
  write_key("open", "a secret that both know", 0644);
  BprunProcess careless = join({}, "open");
  EXPECT_EQ(careless.finish(), 2);
  EXPECT_THAT(careless.first_error_line(),
              AllOf(StartsWith("bprun: BP_JOB_KEY_FILE="),
                    EndsWith(": the file can be read by others; chmod 600 " + folder_ + "/open")));
  BprunProcess without({{"--join", address()}, "", {"BP_JOB_KEY_FILE="}});
  EXPECT_EQ(without.finish(), 2);
  EXPECT_THAT(without.first_error_line(), HasSubstr("set BP_JOB_KEY_FILE to a file of it"));
  BprunProcess machine = join({});
  EXPECT_EQ(machine.finish(), 0) << machine.err();
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_THAT(server_->err(), HasSubstr("bprun: refused 127.0.0.1: it closed the connection before "
                                        "it proved that it knows the key"));
}

// 300 connections are more than the server keeps at a time. It reports the first that it refuses
// and counts the rest.
// docs/acceptance.md, Strangers: Strangers do not prevent machines from joining.
TEST_F(JoinTest, StrangersDoNotPreventMachinesFromJoining) {
  serve({"-n", "2", "true"});
  std::vector<Fd> strangers;
  for (int i = 0; i < 300; ++i) {
    std::string why;
    strangers.push_back(connect_tcp({"127.0.0.1", port_}, Deadline(10s), why));
    ASSERT_TRUE(strangers.back()) << why;
  }
  BprunProcess machine = join({});
  EXPECT_EQ(machine.finish(), 0) << machine.err();
  EXPECT_EQ(server_->finish(), 0) << server_->err();
  EXPECT_THAT(server_->err(),
              AllOf(HasSubstr("bprun: refused 127.0.0.1: it did not prove that it knows the key "
                              "before too many others connected\n"),
                    ContainsRegex("bprun: refused [0-9]+ connections that did not prove the job's "
                                  "key \\(the last from 127.0.0.1: ")));
}

// docs/acceptance.md, Other engines: A machine that never joins is reported.
TEST_F(JoinTest, AMachineThatNeverJoinsIsReported) {
  serve({"-n", "6", "--slots", "3", "--start-timeout", "1s", "true"});
  BprunProcess machine = join({"--slots", "1", "--first-rank", "5"});
  EXPECT_EQ(server_->finish(), 75);
  const std::string why =
      "only 4 of 6 ranks are present: .* \\(3 slots\\), .*#2 \\(rank 5\\), after 1.0 s "
      "\\(--start-timeout\\)\n";
  EXPECT_THAT(server_->err(), ContainsRegex("bprun: FAILED  " + why));
  EXPECT_EQ(machine.finish(), 75);
  EXPECT_THAT(machine.err(), ContainsRegex("bprun: .*: " + why));
}

// docs/acceptance.md, Other engines: A missing `bprun --serve` is reported.
TEST_F(JoinTest, AMissingServerIsReported) {
  BprunProcess machine(with_key({"--join", "127.0.0.1:1", "--start-timeout", "300ms"}));
  EXPECT_EQ(machine.finish(), 75);
  EXPECT_EQ(machine.first_error_line(),
            "bprun: no bprun --serve has answered at 127.0.0.1:1 within 0.3 s (--start-timeout): "
            "Connection refused; is it running, and has its job not begun without this machine?");
}

TEST_F(JoinTest, TheServerReportsAFailureAndAllEndWithItsCode) {
  serve({"-n", "3", "--slots", "1", rank_program(), "exit", "2", "7"});
  BprunProcess machine = join({"--slots", "2"});
  EXPECT_EQ(server_->finish(), 7);
  EXPECT_THAT(server_->err(), ContainsRegex("bprun: FAILED  rank 2 on .*#2 \\(local rank 1, pid "
                                            "[0-9]+\\) exited with code 7"));
  EXPECT_THAT(server_->err(), HasSubstr("    | rank 2 has enough\n"));
  EXPECT_EQ(machine.finish(), 7);
  EXPECT_THAT(machine.err(), ContainsRegex("bprun: FAILED  rank 2 on .* exited with code 7\n"
                                           "  the report is with bprun on "));
  EXPECT_THAT(machine.err(), Not(HasSubstr("has enough")));
  EXPECT_EQ(server_->marked_at_last(), 0);
}

// docs/acceptance.md, Other engines: A lost machine ends the job on both sides.
TEST_F(JoinTest, ALostMachineEndsTheJob) {
  serve({"-n", "2", rank_program(), "wait"});
  BprunProcess machine = join({});
  ASSERT_TRUE(server_->wait_for("[1] ready")) << server_->err();
  machine.signal(SIGKILL);
  EXPECT_EQ(server_->finish(), 75);
  EXPECT_THAT(server_->err(),
              ContainsRegex("bprun: FAILED  host .*#2 was lost \\(its connection ended\\)"));
  EXPECT_EQ(server_->marked_at_last(), 0);
}

TEST_F(JoinTest, ALostServerEndsTheJoinedMachines) {
  serve({"-n", "2", rank_program(), "family"});
  BprunProcess machine = join({});
  ASSERT_TRUE(server_->wait_for("[1] ready")) << server_->err();
  server_->signal(SIGKILL);
  EXPECT_EQ(machine.finish(), 75);
  EXPECT_THAT(machine.err(),
              HasSubstr(concat("bprun: lost bprun at ", address(), ": its connection ended\n")));
  EXPECT_EQ(server_->marked_at_last(), 0);
}

TEST_F(JoinTest, AMachineThatLeavesBeforeTheStartMakesRoom) {
  serve({"-n", "2", "true"});
  BprunProcess machine = join({"--first-rank", "0"});
  // The server takes the first rank that is left, so both get one.
  EXPECT_EQ(machine.finish(), 0) << machine.err();
  EXPECT_EQ(server_->finish(), 0) << server_->err();

  serve({"-n", "3", "true"});
  BprunProcess early = join({"--first-rank", "2"});
  ASSERT_TRUE(server_->wait_for("has joined")) << server_->err();
  early.signal(SIGINT);
  EXPECT_EQ(early.finish(), 130);
  ASSERT_TRUE(server_->wait_for(" has left; 1 of 3 ranks are present")) << server_->err();
  BprunProcess late = join({"--slots", "2", "--first-rank", "1"});
  EXPECT_EQ(late.finish(), 0) << late.err();
  EXPECT_EQ(server_->finish(), 0) << server_->err();
}

TEST_F(JoinTest, CtrlCOnAJoinedMachineStopsTheJobEverywhere) {
  serve({"-n", "2", rank_program(), "wait"});
  BprunProcess machine = join({});
  ASSERT_TRUE(server_->wait_for("[1] ready")) << server_->err();
  machine.signal(SIGINT);
  EXPECT_EQ(machine.finish(), 130) << machine.err();
  EXPECT_EQ(server_->finish(), 130) << server_->err();
  EXPECT_THAT(server_->err(), HasSubstr("bprun: SIGINT: stopping 2 ranks"));
  EXPECT_EQ(server_->marked_at_last(), 0);
}

TEST_F(JoinTest, AServerThatIsStoppedWhileItWaitsEndsTheJoinedMachines) {
  serve({"-n", "3", "true"});
  BprunProcess machine = join({});
  ASSERT_TRUE(server_->wait_for("has joined")) << server_->err();
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->finish(), 143);
  EXPECT_EQ(machine.finish(), 143);
  EXPECT_THAT(machine.err(), HasSubstr(": SIGTERM: stopped before the job began\n"));
}

TEST_F(JoinTest, ABusyPortIsNamed) {
  serve({"-n", "2", "true"});
  BprunProcess second(with_key({"--serve", std::to_string(port_), "-n", "2", "true"}));
  EXPECT_EQ(second.finish(), 2);
  EXPECT_EQ(second.first_error_line(),
            concat("bprun: --serve ", port_, ": Address already in use"));
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->finish(), 143);
}

}  // namespace
}  // namespace bp::test
