// sweep.sqlite: what a sweep writes, another process reads, and the next sweep finds.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "bp/error.h"
#include "launcher/sweep/state/sweep_state.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TrialRecord trial_number(int number) {
  TrialRecord trial;
  trial.number = number;
  trial.block = 1;
  trial.index = number + 10;
  trial.repeat = 2;
  trial.parameters = {{"lr", Value::of_scalar("1e-5")},
                      {"name", Value::of_text("a \"b\"\n")},
                      {"deep", Value::of_boolean(true)},
                      {"size", Value::of_integer(-3)}};
  return trial;
}

TrialRecord changed(TrialRecord trial) {
  trial.state = TrialState::failed;
  trial.attempts = 2;
  trial.failures = 1;
  trial.exit_code = 3;
  trial.reason = "rank 0 exited";
  trial.asked = StopReason::user;
  trial.hosts = "a:2,b:1";
  trial.started = 1.5;
  trial.attempt_started = 2.5;
  trial.ended = 4;
  trial.seconds = 2.25;
  trial.result = 0.125;
  trial.step = 7;
  trial.output_offset = 11;
  trial.error_offset = 12;
  return trial;
}

void expect_same(const TrialRecord& a, const TrialRecord& b) {
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.block, b.block);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.repeat, b.repeat);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(shown(a.parameters), shown(b.parameters)) << "the texts stay as they were written";
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.failures, b.failures);
  EXPECT_EQ(a.exit_code, b.exit_code);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.asked, b.asked);
  EXPECT_EQ(a.hosts, b.hosts);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.attempt_started, b.attempt_started);
  EXPECT_EQ(a.ended, b.ended);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.result, b.result);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.output_offset, b.output_offset);
  EXPECT_EQ(a.error_offset, b.error_offset);
}

TEST(SweepState, ATrialComesBackAsItWasWritten) {
  const Scratch scratch;
  {
    SweepState state(scratch.path("made/for/it"));
    state.save(trial_number(0));
    state.save(trial_number(1));
    state.save(changed(trial_number(1)));
  }
  SweepState state(scratch.path("made/for/it"));
  const auto trials = state.trials();
  ASSERT_EQ(trials.size(), 2U);
  expect_same(trials[0], trial_number(0));
  expect_same(trials[1], changed(trial_number(1)));
}

TEST(SweepState, AReportOfTheSameStepReplacesTheEarlierOne) {
  const Scratch scratch;
  SweepState state(scratch.path());
  state.save(trial_number(0));
  state.report(trial_number(0), {{2, 0.5}, {1, 0.25}});
  state.report(trial_number(0), {{2, 0.75}});
  std::vector<std::string> reports;
  state.each_report([&](int trial, std::int64_t step, double value) {
    reports.push_back(std::to_string(trial) + " " + std::to_string(step) + " " +
                      std::to_string(value));
  });
  EXPECT_THAT(reports, ElementsAre("0 1 0.250000", "0 2 0.750000"));
}

TEST(SweepState, RequestsArriveOnceAndInOrder) {
  const Scratch scratch;
  SweepState state(scratch.path());
  post_request(scratch.path(), {"retry", 3});
  post_request(scratch.path(), {"stop", 1});
  const auto requests = state.take_requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].what + std::to_string(requests[0].trial), "retry3");
  EXPECT_EQ(requests[1].what + std::to_string(requests[1].trial), "stop1");
  EXPECT_TRUE(state.take_requests().empty());
}

TEST(SweepState, ASecondSweepInTheFolderIsRefused) {
  const Scratch scratch;
  int told[2];
  ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const SweepState state(scratch.path());
    static_cast<void>(::write(told[1], "x", 1));
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  EXPECT_EQ(sweep_process(scratch.path()), other);
  EXPECT_THAT(test::error_of([&] {
                const SweepState state(scratch.path());
                return 0;
              }),
              HasSubstr("a sweep runs in " + scratch.path() + " already (process " +
                        std::to_string(other) + ")"));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_EQ(sweep_process(scratch.path()), std::nullopt);
  EXPECT_EQ(test::error_of([&] {
              const SweepState state(scratch.path());
              return 0;
            }),
            "no error");
  ::close(told[0]);
  ::close(told[1]);
}

TEST(SweepState, AnotherFileIsRefused) {
  const Scratch scratch;
  scratch.write("sweep.sqlite", "this is not a database, and it is long enough to have a header");
  EXPECT_THAT(test::error_of([&] {
                const SweepState state(scratch.path());
                return 0;
              }),
              HasSubstr("sweep.sqlite is not a file of bprun sweep"));
  EXPECT_THAT(test::error_of([&] {
                const SweepReader reader(scratch.path());
                return 0;
              }),
              HasSubstr("sweep.sqlite is not a file of bprun sweep"));
  EXPECT_THAT(test::error_of([&] {
                const SweepReader reader(scratch.path("none"));
                return 0;
              }),
              HasSubstr("name a folder that bprun sweep made"));
}

TEST(SweepReader, SeesWhatAWriterHasDoneSoFar) {
  const Scratch scratch;
  SweepState state(scratch.path());
  SweepReader reader(scratch.path());
  EXPECT_TRUE(reader.counts().empty());
  const auto with_result = [](int number, TrialState known, double result) {
    TrialRecord trial = trial_number(number);
    trial.state = known;
    trial.result = result;
    return trial;
  };
  const std::vector<TrialRecord> trials{
      with_result(0, TrialState::finished, 0.5), with_result(1, TrialState::stopped, 0.75),
      with_result(2, TrialState::failed, 0.875), with_result(3, TrialState::running, 0.5)};
  for (const TrialRecord& trial : trials) {
    state.save(trial);
  }
  state.put_setting("metric", "accuracy");
  state.host({"a", 3, false, "gone"});
  const auto numbers = [](const std::vector<TrialRecord>& of) {
    std::vector<int> list;
    for (const TrialRecord& trial : of) list.push_back(trial.number);
    return list;
  };
  EXPECT_EQ(reader.counts().at(TrialState::finished), 1);
  EXPECT_THAT(numbers(reader.best(10, Direction::max)), ElementsAre(1, 0, 3));
  EXPECT_THAT(numbers(reader.best(2, Direction::min)), ElementsAre(0, 3));
  EXPECT_THAT(numbers(reader.trials(TrialState::failed)), ElementsAre(2));
  EXPECT_EQ(reader.setting("metric"), "accuracy");
  EXPECT_EQ(reader.hosts().at(0).reason, "gone");
  EXPECT_EQ(reader.trial(3)->result, 0.5);
  EXPECT_FALSE(reader.trial(4));
}

}  // namespace
}  // namespace bp::launcher::sweep
