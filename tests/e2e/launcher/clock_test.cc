// The wall clock jumps by an hour, forwards and back, while bprun and its programs wait. All waits
// are by the steady clock, so nothing may end early or late.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/system/fd.h"
#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/e2e/launcher/sweep_fixture.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClockTest : public SweepTest {
 protected:
  ClockTest() { set_ahead(0); }

  void set_ahead(std::int64_t seconds) const {
    const Fd file(::open(clock_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::pwrite(file.get(), &seconds, sizeof seconds, 0), sizeof seconds);
  }
  // Leaves time for looks at the clock after each jump.
  void jump() const {
    for (const std::int64_t ahead : {3600, -3600, 0}) {
      set_ahead(ahead);
      ::usleep(700'000);
    }
  }
  [[nodiscard]] std::vector<std::string> variables() const {
    return {"LD_PRELOAD=" + kTestsDir + "/libbp_jumping_clock.so", "BP_TEST_CLOCK=" + clock_};
  }
  [[nodiscard]] BprunProcess bprun(std::vector<std::string> arguments,
                                   std::vector<std::string> environment = {}) const {
    const auto clock = variables();
    environment.insert(environment.end(), clock.begin(), clock.end());
    return BprunProcess({.arguments = std::move(arguments), .environment = std::move(environment)});
  }
  // A wait that depends on the wall clock would take an hour, or end at once.
  static void expect_undisturbed(BprunProcess& bprun) {
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    EXPECT_THAT(bprun.err(), Not(HasSubstr("FAILED")));
    EXPECT_THAT(bprun.err(), Not(HasSubstr("warning")));
  }

  const std::string clock_ = scratch_.path("clock");
};

TEST_F(ClockTest, TheLibraryMovesTheClock) {
  set_ahead(3600);
  BprunProcess ahead = bprun({"-n", "1", "date", "+%s"});
  EXPECT_EQ(ahead.finish(), 0) << ahead.err();
  const std::int64_t there = std::stoll(ahead.out().substr(ahead.out().find(' ')));  // "[0] 17..."
  EXPECT_GT(there, std::time(nullptr) + 3000);
}

// docs/acceptance.md, Failures: A job goes on while the wall clock jumps by an hour.
TEST_F(ClockTest, AJobGoesOn) {
  BprunProcess job = bprun({"-n", "2", rank_program(), "rest", "3"});
  ASSERT_TRUE(job.wait_for("resting")) << job.err();
  jump();
  expect_undisturbed(job);
}

TEST_F(ClockTest, RanksWithoutBprunMeet) {
  const std::string late =
      concat("export BP_ENGINE=plain WORLD_SIZE=2 BP_SHARED_FOLDER=$D; RANK=1 ", rank_program(),
             " rest 1 & echo waiting; sleep 3; RANK=0 ", rank_program(), " rest 1 && wait $!");
  BprunProcess ranks = bprun({"-n", "1", "--env", "D=" + scratch_.path(), "sh", "-c", late});
  ASSERT_TRUE(ranks.wait_for("waiting")) << ranks.err();
  jump();
  expect_undisturbed(ranks);
}

TEST_F(ClockTest, AServerWaitsForMachines) {
  scratch_.write("key", "a secret that both know");
  ASSERT_EQ(::chmod(scratch_.path("key").c_str(), 0600), 0);
  const std::string key = "BP_JOB_KEY_FILE=" + scratch_.path("key");
  BprunProcess server =
      bprun({"--serve", "0", "-n", "2", "--slots", "1", rank_program(), "rest", "3"}, {key});
  ASSERT_TRUE(server.wait_for("; on each other machine")) << server.err();
  jump();
  int port = 0;
  std::istringstream(server.err().substr(server.err().find("port ") + 5)) >> port;
  BprunProcess joined = bprun({"--join", concat("127.0.0.1:", port), "--slots", "1"}, {key});
  ASSERT_TRUE(server.wait_for("resting")) << server.err();
  jump();
  expect_undisturbed(server);
  expect_undisturbed(joined);
}

// docs/acceptance.md, Failures: A sweep goes on, and counts its time, while the wall clock jumps.
TEST_F(ClockTest, ASweepGoesOnAndCountsItsTime) {
  scratch_.write("space.yaml", "parameters: {i: [1, 2]}\n");
  BprunProcess sweep =
      bprun({"sweep", scratch_.path("space.yaml"), "--folder", folder(), "-n", "2", "--env",
             "D=" + scratch_.path(), "--", "sh", "-c", "touch $D/begun.$1; sleep 3", "sh", "{i}"});
  ASSERT_TRUE(wait_for_file("begun.1"));
  ASSERT_TRUE(wait_for_file("begun.2"));
  set_ahead(3600);
  expect_undisturbed(sweep);
  std::istringstream rows(ask("status", {"--csv"}));  // trial,state,result,step,seconds,...
  std::string row;
  ASSERT_TRUE(std::getline(rows, row));
  int trials = 0;
  for (; std::getline(rows, row); ++trials) {
    std::vector<std::string> fields;
    std::istringstream text(row);
    for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
    EXPECT_EQ(fields.at(1), "finished");
    EXPECT_GE(std::stod(fields.at(4)), 3);
    EXPECT_LT(std::stod(fields.at(4)), 1000);
  }
  EXPECT_EQ(trials, 2);
}

}  // namespace
}  // namespace bp::test
