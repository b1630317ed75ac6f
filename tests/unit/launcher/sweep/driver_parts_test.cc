// The parts of the driver that start no process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/sweep/driver/failure_line.h"
#include "launcher/sweep/driver/pool.h"
#include "launcher/sweep/driver/proposals.h"
#include "launcher/sweep/driver/trial_table.h"
#include "launcher/sweep/space/space.h"
#include "tests/support/scratch.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;

Host host_with(const std::string& name, int slots, std::vector<int> gpus = {}) {
  Host host;
  host.name = name;
  host.slots = slots;
  if (!gpus.empty()) host.gpus = std::move(gpus);
  return host;
}

// docs/features.md, Searches: Trials placed on hosts and GPUs | the slots of `-H`, a hostfile or a
// batch job; `gpus=` of a host
TEST(Pool, GivesEachTrialItsSlotsAndTheirGpus) {
  Host slow = host_with("fe80::1", 1);
  slow.weight = 0.5;
  Pool pool({host_with("a", 3, {4, 5, 7}), slow});
  EXPECT_EQ(pool.all_slots(), 4);
  const auto first = pool.take({{0, 2}});
  EXPECT_EQ(pool.host_list(first), "a:2:gpus=[4,5]");
  const auto second = pool.take({{0, 1}, {1, 1}});
  EXPECT_EQ(pool.host_list(second), "a:1:gpus=[7],[fe80::1]:1:weight=0.5");
  EXPECT_EQ(pool.shown(second), "a:1,fe80::1:1");
  EXPECT_EQ(pool.view()[0].free + pool.view()[1].free, 0);
  pool.give_back(first);
  EXPECT_EQ(pool.view()[0].free, 2);
  pool.set_present(0, false);
  EXPECT_EQ(pool.view()[0].slots, 0) << "a lost host has no slots";
  EXPECT_EQ(pool.view_of_all()[0].free, 3);
}

TEST(Pool, DividesTheCoresOfAHostByItsSlots) {
  Pool pool({host_with("a", 4), host_with("b", 2)});
  EXPECT_EQ(pool.threads(pool.take({{0, 1}})), 0) << "no host has said how many cores it has";
  pool.set_cores(0, 16);
  pool.set_cores(1, 4);
  EXPECT_EQ(pool.threads(pool.take({{0, 1}})), 4);
  EXPECT_EQ(pool.threads(pool.take({{0, 1}, {1, 1}})), 2);
  pool.set_cores(0, 2);
  EXPECT_EQ(pool.threads(pool.take({{0, 1}})), 1);
}

TEST(FailureLine, IsBprunsReportOrTheLastLine) {
  const auto report = failure_line(
      "noise\nbprun: FAILED  rank 0 on a (local rank 0, pid 1) exited with code 3 after 0.1 s\n"
      "  hint: more\n");
  EXPECT_EQ(report.text, "rank 0 on a (local rank 0, pid 1) exited with code 3 after 0.1 s");
  EXPECT_FALSE(report.lost_host);
  EXPECT_EQ(failure_line("a\nlast\n\n").text, "last");
  EXPECT_EQ(failure_line("").text, "");
}

TEST(FailureLine, HasTheLastWordsOfTheProgram) {
  const auto report = failure_line(
      "[0] p: too large\nbprun: FAILED  rank 0 on a exited with code 77\n  last stderr of rank 0:\n"
      "    | noise\n    | p: too large\n    | hint: a smaller one\n  run again: p\n");
  EXPECT_EQ(report.said, "p: too large");
  EXPECT_EQ(report.text, "rank 0 on a exited with code 77");
}

TEST(FailureLine, NamesALostHost) {
  for (const char* what : {"was lost (its agent was killed)", "could not be reached: ssh: no",
                           "gave no answer within 30 s (--start-timeout)"}) {
    const auto failure = failure_line(std::string("bprun: FAILED  host far ") + what + "\n");
    EXPECT_TRUE(failure.lost_host) << what;
    EXPECT_EQ(failure.host, "far");
  }
}

SweepSettings settings_of(const std::string& yaml) {
  SweepSettings settings;
  settings.space = parse_space(yaml, "s.yaml");
  return settings;
}

TEST(Proposals, BlocksTakeTurnsByTheShareThatTheyHaveGiven) {
  const SweepSettings settings = settings_of(
      "blocks:\n"
      "  - parameters: {a: [1, 2, 3, 4]}\n"
      "  - parameters: {b: [1, 2]}\n");
  Proposals proposals(settings);
  EXPECT_EQ(proposals.all(), 6);
  std::vector<int> blocks;
  while (const auto plan = proposals.next({})) {
    blocks.push_back(plan->block);
    proposals.add(plan->block);
  }
  EXPECT_THAT(blocks, ElementsAre(0, 1, 0, 0, 1, 0));
}

TEST(Proposals, MaxTrialsLimitsThem) {
  SweepSettings settings = settings_of("parameters: {a: [1, 2, 3, 4]}\n");
  settings.max_trials = 3;
  Proposals proposals(settings);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(proposals.next_block());
    proposals.add(0);
  }
  EXPECT_FALSE(proposals.next_block());
  EXPECT_EQ(proposals.all(), 3);
}

StopReason never() { return StopReason::none; }

TEST(TrialTable, IsTheSameAfterAReopening) {
  const Scratch scratch;
  const auto fill = [](TrialTable& trials) {
    for (int i = 0; i < 3; ++i) {
      TrialPlan plan;
      plan.index = i;
      plan.parameters = {{"x", Value::of_integer(i)}};
      EXPECT_EQ(trials.add(plan), i);
    }
    trials.report(1, {{5, 0.5}, {2, 0.75}}, never);
    trials.report(2, {{1, 0.25}}, never);
    trials.update(1, [](TrialRecord& record) { record.state = TrialState::finished; });
  };
  const auto check = [](const TrialTable& trials) {
    ASSERT_EQ(trials.size(), 3);
    EXPECT_EQ(trials.count(TrialState::finished), 1);
    EXPECT_EQ(trials.count(TrialState::waiting), 2);
    const TrialHistory& history = trials.histories()[1];
    EXPECT_EQ(history.state, TrialState::finished);
    ASSERT_EQ(history.reports.size(), 2U);
    EXPECT_EQ(history.reports[0].step, 2) << "reports are ordered by step";
    EXPECT_EQ(history.result, 0.75);
    ASSERT_NE(trials.best(), nullptr);
    EXPECT_EQ(trials.best()->number, 1);
    EXPECT_EQ(trials.best()->result, 0.75);
  };
  {
    SweepState state(scratch.path());
    TrialTable trials(state, Direction::max);
    fill(trials);
    check(trials);
  }
  SweepState state(scratch.path());
  const TrialTable trials(state, Direction::max);
  check(trials);
}

TEST(TrialTable, TheBestIsNoneThatFailedOrWasSkipped) {
  const Scratch scratch;
  const auto best = [](const TrialTable& trials) {
    return trials.best() == nullptr ? -1 : trials.best()->number;
  };
  const auto become = [](TrialTable& trials, int trial, TrialState state) {
    trials.update(trial, [state](TrialRecord& record) { record.state = state; });
  };
  {
    SweepState state(scratch.path());
    TrialTable trials(state, Direction::max);
    for (int i = 0; i < 3; ++i) static_cast<void>(trials.add({}));
    for (int i = 0; i < 3; ++i) trials.report(i, {{1, 0.25 * i}}, never);
    EXPECT_EQ(best(trials), 2);
    become(trials, 2, TrialState::failed);
    EXPECT_EQ(best(trials), 1);
    become(trials, 1, TrialState::skipped);
    EXPECT_EQ(best(trials), 0);
    become(trials, 2, TrialState::waiting);
    EXPECT_EQ(best(trials), 2) << "it is tried again";
    become(trials, 2, TrialState::failed);
  }
  SweepState state(scratch.path());
  EXPECT_EQ(best(TrialTable(state, Direction::max)), 0);
}

TEST(TrialTable, DecidesOnceForEachNewStepAndKeepsTheDecision) {
  const Scratch scratch;
  {
    SweepState state(scratch.path());
    TrialTable trials(state, Direction::max);
    static_cast<void>(trials.add({}));
    std::vector<std::size_t> asked;
    const auto at_the_second = [&] {
      asked.push_back(trials.histories()[0].reports.size());
      return asked.back() == 2 ? StopReason::rung : StopReason::none;
    };
    trials.report(0, {{1, 0.5}}, at_the_second);
    EXPECT_EQ(trials[0].asked, StopReason::none);
    trials.update(0, [](TrialRecord& record) { record.asked = StopReason::sweep_ends; });
    trials.report(0, {{1, 0.5}, {2, 0.5}, {3, 0.5}}, at_the_second);
    EXPECT_THAT(asked, ElementsAre(1, 2)) << "neither a repeated step nor one after the decision";
    EXPECT_EQ(trials[0].asked, StopReason::rung);
  }
  SweepState state(scratch.path());
  EXPECT_EQ(TrialTable(state, Direction::max)[0].asked, StopReason::rung);
}

}  // namespace
}  // namespace bp::launcher::sweep
