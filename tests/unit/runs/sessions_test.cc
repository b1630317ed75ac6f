// sessions.jsonl.
#include "trainer/report/sessions.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bp/error.h"
#include "runs_fixture.h"
#include "trainer/prepare/lease.h"

namespace bp::trainer {
namespace {

using bp::trainer::test::RunsFixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class SessionsTest : public RunsFixture {};

TEST_F(SessionsTest, AreReadBack) {
  const std::string file = path("sessions.jsonl");
  EXPECT_THAT(read_sessions(file), IsEmpty());
  SessionWriter first(file, {.begun = utc_now(), .main_score = {"loss", false}}, false);
  first.end(7, "stopped");
  first.end(9, "failed", "no");  // the first end counts
  SessionWriter second(file,
                       {.from_step = 7,
                        .begun = utc_now(),
                        .version = "0.1.0",
                        .machine = machine_text(),
                        .main_score = {"accuracy", true},
                        .hosts = {{"a \"host\"", 3}, {"b", 1}}},
                       true);
  std::vector<Session> sessions = read_sessions(file);
  ASSERT_EQ(sessions.size(), 2U);
  EXPECT_EQ(sessions[0].outcome, "stopped");
  EXPECT_EQ(sessions[0].end_step, 7);
  EXPECT_FALSE(sessions[0].main_score.higher_is_better);
  EXPECT_THAT(sessions[0].begun, MatchesRegex("2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"));
  EXPECT_EQ(sessions[1].from_step, 7);
  EXPECT_EQ(sessions[1].outcome, "");
  ASSERT_EQ(sessions[1].hosts.size(), 2U);
  EXPECT_EQ(sessions[1].hosts[0].name, "a \"host\"");
  EXPECT_EQ(sessions[1].hosts[0].ranks, 3);
  EXPECT_THAT(sessions[1].machine, HasSubstr("core"));

  std::ofstream(file, std::ios::app) << "{\"event\":\"st";  // a kill amid a line
  EXPECT_EQ(read_sessions(file).size(), 2U);
  SessionWriter third(file, {}, true);
  EXPECT_EQ(read_sessions(file).size(), 3U);
  SessionWriter again(file, {}, false);
  EXPECT_EQ(read_sessions(file).size(), 1U);
  std::ofstream(file, std::ios::app) << "[]\n";
  try {
    (void)read_sessions(file);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(file + ", line 2 is not a line about a session"));
  }
}

// LibTorch's errors have a backtrace. Older versions wrote all of it.
TEST_F(SessionsTest, AReasonIsOneLine) {
  const std::string file = path("sessions.jsonl");
  SessionWriter(file, {}, false).end(3, "failed", "not enough memory\nException raised from\n");
  EXPECT_EQ(read_sessions(file).front().why, "not enough memory");
  std::ifstream in(file);
  std::string lines{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(lines, Not(HasSubstr("Exception")));
  const std::string why = "not enough memory";
  lines.insert(lines.find(why) + why.size(), "\\nframe #0");
  std::ofstream(file) << lines;
  EXPECT_EQ(read_sessions(file).front().why, why);
}

TEST_F(SessionsTest, TheEndIsNoReasonToFail) {
  SessionWriter writer(path("sessions.jsonl"), {}, false);
  std::filesystem::remove_all(path());
  EXPECT_NO_THROW(writer.end(3, "failed", "a reason"));
}

TEST_F(SessionsTest, ALeaseIsSeenWithoutBeingTaken) {
  const Lease watcher(path("lease"));
  EXPECT_FALSE(watcher.seems_held());
  {
    Lease holder(path("lease"));
    ASSERT_TRUE(holder.try_take());
    EXPECT_TRUE(watcher.seems_held());
  }
  EXPECT_FALSE(watcher.seems_held());
}

}  // namespace
}  // namespace bp::trainer
