// `bprun sweep` with real processes: sweeps of shell scripts on this machine and, by a fake ssh, on
// another host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/e2e/launcher/sweep_fixture.h"

namespace bp::test {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// docs/features.md, Searches: At most N trials at once | `bprun sweep -n N`, `-H a:3,b:1`, `slots`
// of a trial
TEST_F(SweepTest, AGridRunsOnLocalSlotsAndItsBestTrialIsKnown) {
  BprunProcess sweep = start(
      "metric: score\ndirection: max\nslots: 2\nparameters:\n"
      "  x: [1, 2, 3]\n  y: [10, 20]\n",
      "echo bp: metric $(($1 * $2)) 1; echo $WORLD_SIZE:$RANK >>$D/ranks; "
      "echo bp: metric $(($1 * $2 - 1)) 2",
      {"-n", "4"}, {"{x}", "{y}"});
  ASSERT_EQ(sweep.finish(), 0) << sweep.err();
  EXPECT_EQ(sweep.out(), "");
  EXPECT_THAT(sweep.err(), HasSubstr("6 of 6 trials ended; best score 60 (trial 5)"));
  EXPECT_EQ(lines("ranks").size(), 12U);
  EXPECT_EQ(lines("ranks").front() + " " + lines("ranks").back(), "2:0 2:1");
  const json status = this->status();
  EXPECT_EQ(status["counts"], json({{"finished", 6}}));
  EXPECT_EQ(status["best"][0]["parameters"], json({{"x", 3}, {"y", 20}}));
  EXPECT_EQ(status["best"][0]["result"], 60);
  EXPECT_EQ(status["best"][0]["step"], 1);
  EXPECT_EQ(status["best"][0]["last_step"], 2);
  EXPECT_THAT(ask("status"), HasSubstr("60            x=3 y=20"));
  EXPECT_THAT(ask("status", {"--csv"}), HasSubstr("\n5,finished,60.0,1,"));
  EXPECT_THAT(ask("best"), HasSubstr("trial 5: score 60 at step 1\n  x=3 y=20\n"));
  EXPECT_EQ(json::parse(ask("best", {"--json"}))["step"], 1);
  EXPECT_THAT(read_file(folder() + "/sweep.html"),
              HasSubstr(R"(<th scope="row">step</th><td class="text">1</td>)"));
  EXPECT_EQ(std::filesystem::read_symlink(folder() + "/best"), "trials/5");
}

// docs/features.md, Searches: The best result, while the search runs | `bprun sweep status`,
// `report`; `bert_train runs --sort`
TEST_F(SweepTest, AMetricThatNoTrialReportedIsMissed) {
  const std::string space = "metric: loss\nparameters: {i: [1, 2]}\n";
  BprunProcess sweep = start(space, "echo bp: metric 5% $1", {"-q"});
  EXPECT_EQ(sweep.finish(), 0);
  EXPECT_THAT(
      sweep.err(),
      HasSubstr("bprun sweep: no trial has reported the metric loss. A program reports it "
                "by lines 'bp: metric VALUE STEP' on stdout; of bert_train it is read from "
                "metrics.jsonl; trial 0 printed 'bp: metric 5% 1', which is not a report\n"));
}

TEST_F(SweepTest, TrialsWithoutTheMetricAreNamedWhereOthersHaveIt) {
  const std::string space = "metric: loss\nparameters: {i: [1, 2, 3]}\n";
  BprunProcess sweep =
      start(space, "[ $1 = 1 ] && echo bp: metric 0.5 1 || echo bp: metric nan $1", {"-q"});
  EXPECT_EQ(sweep.finish(), 0);
  EXPECT_THAT(sweep.err(), HasSubstr("bprun sweep: 2 trials, the first of them 1, have ended well "
                                     "without the metric loss. A program reports it by lines"));
  EXPECT_THAT(sweep.err(),
              HasSubstr("; trial 1 printed 'bp: metric nan 2', which is not a report\n"));
}

// docs/features.md, Searches: A failed trial tried again | `bprun sweep --max-restarts`, `bprun
// sweep retry`
TEST_F(SweepTest, AFailureIsExplainedAndCanBeRetried) {
  const auto sweep = [this] {
    return start("parameters: {i: [1, 2]}\n",
                 "[ $1 = 2 ] || [ -e $D/fixed ] || { echo p: 1 is too few >&2; exit 3; }", {});
  };
  BprunProcess first = sweep();
  EXPECT_EQ(first.finish(), 1);
  EXPECT_THAT(first.err(), HasSubstr("bprun sweep: trial 0 failed (i=1): rank 0 on localhost "));
  EXPECT_THAT(first.err(), ContainsRegex("exited with code 3[^\n]*: p: 1 is too few; see "));
  EXPECT_THAT(first.err(), HasSubstr("2 of 2 trials ended (1 failed)"));
  EXPECT_EQ(status()["failed"][0]["exit_code"], 3);
  scratch_.write("fixed", "");
  EXPECT_THAT(ask("retry", {"0"}), HasSubstr("the command that started the sweep runs them"));
  BprunProcess again = sweep();
  EXPECT_EQ(again.finish(), 0) << again.err();
  EXPECT_EQ(count("finished"), 2);
}

// docs/features.md, Searches: Models over a size skipped | `--max-parameters`, exit code 77
TEST_F(SweepTest, ATrialThatDeclinesItsParametersIsSkipped) {
  BprunProcess sweep = start("metric: score\nparameters: {x: [1, 2, 3]}\n",
                             "echo bp: metric $1 1; echo $1 >>$D/started; "
                             "[ $1 != 3 ] || { echo 'p: 3 is too large' >&2; exit 77; }",
                             {"-n", "1", "--max-restarts", "2"}, {"{x}"});
  ASSERT_EQ(sweep.finish(), 0) << sweep.err();
  EXPECT_THAT(sweep.err(), HasSubstr("3 of 3 trials ended (1 skipped); best score 2 (trial 1)"));
  EXPECT_THAT(lines("started"), ElementsAre("1", "2", "3")) << "it is not restarted";
  const json status = this->status();
  EXPECT_EQ(status["counts"], json({{"finished", 2}, {"skipped", 1}}));
  EXPECT_EQ(status["best"].size(), 2U);
  EXPECT_THAT(ask("status", {"--csv"}), HasSubstr("\n2,skipped,"));
  EXPECT_THAT(ask("status", {"--csv"}), HasSubstr("p: 3 is too large"));
}

// docs/features.md, Searches: The whole search stopped in order | `bprun sweep stop`, Ctrl-C,
// `--max-hours`, `--until`
TEST_F(SweepTest, AnotherShellSeesASweepAndStopsIt) {
  const auto sweep = [this](const char* script) {
    return start("metric: loss\nparameters: {i: [1, 2, 3]}\n", script, {"-n", "2"});
  };
  constexpr const char* kScript =
      "echo bp: metric 0.$1 1; [ -e $D/quick ] && exit; touch $D/ready.$1; exec sleep 1000";
  BprunProcess running = sweep(kScript);
  ASSERT_TRUE(wait_for_file("ready.1") && wait_for_file("ready.2"));
  json status = this->status();
  for (int i = 0; i < 500 && status["best"].size() < 2; ++i) status = this->status();
  EXPECT_EQ(status["process"], running.pid());
  EXPECT_EQ(status["running"].size(), 2U);
  EXPECT_EQ(status["best"][0]["result"], 0.1) << "a loss is better when it is smaller";
  BprunProcess second = sweep(kScript);
  EXPECT_EQ(second.finish(), 75);
  EXPECT_THAT(second.err(), HasSubstr(concat("a sweep runs in ", folder(), " already (process ",
                                             running.pid(), ")")));
  static_cast<void>(ask("stop", {"0"}));
  EXPECT_TRUE(wait_for_file("ready.3")) << "the stopped trial's slot is free for the next";
  EXPECT_THAT(ask("stop"), HasSubstr("asked process "));
  EXPECT_EQ(running.finish(), 75);
  EXPECT_EQ(running.marked_at_last(), 0);
  scratch_.write("quick", "");
  BprunProcess last = sweep(kScript);
  EXPECT_EQ(last.finish(), 0) << last.err();
  EXPECT_EQ(count("finished"), 2);
  EXPECT_EQ(count("stopped"), 1);
}

TEST_F(SweepTest, CtrlCLetsTrialsSaveAndTheSameCommandContinues) {
  const auto sweep = [this] {
    return start("parameters: {i: [1, 2]}\n",
                 "trap 'echo $1 >>$D/saved; exit 75' TERM; [ -e $D/saved ] && exit 0; "
                 "touch $D/ready.$1; while :; do sleep 0.05; done",
                 {"-n", "2"});
  };
  BprunProcess first = sweep();
  ASSERT_TRUE(wait_for_file("ready.1") && wait_for_file("ready.2"));
  first.signal(SIGINT);
  EXPECT_EQ(first.finish(), 130);
  EXPECT_THAT(first.err(), HasSubstr("SIGINT: stopping 2 trials"));
  EXPECT_THAT(lines("saved"), ElementsAre("1", "2"));
  EXPECT_EQ(count("waiting"), 2);
  BprunProcess second = sweep();
  EXPECT_EQ(second.finish(), 0) << second.err();
  EXPECT_EQ(count("finished"), 2);
}

// docs/features.md, Searches: Trials placed on hosts and GPUs | the slots of `-H`, a hostfile or a
// batch job; `gpus=` of a host
TEST_F(SweepTest, AHostNeedsOneLoginForAllTrials) {
  BprunProcess sweep =
      start("parameters: {i: {range: [1, 12, 1]}}\n", "echo $1 >>$D/done",
            {"-H", "far:2,localhost:1", "--ssh", fake_ssh("echo x >>" + scratch_.path("logins"))});
  EXPECT_EQ(sweep.finish(), 0) << sweep.err();
  EXPECT_EQ(lines("done"), numbers_to(12));
  EXPECT_EQ(lines("logins").size(), 1U);
  EXPECT_THAT(ask("status", {"--csv"}), HasSubstr(",far:1,"));
  EXPECT_EQ(sweep.marked_at_last(), 0);
}

TEST_F(SweepTest, WrongInputIsRefusedBeforeAnythingStarts) {
  const auto refusal = [this](const std::string& space, std::vector<std::string> options) {
    BprunProcess sweep = start(space, "true", std::move(options));
    EXPECT_EQ(sweep.finish(), 2) << sweep.err();
    EXPECT_FALSE(std::filesystem::exists(folder()));
    return sweep.err();
  };
  const std::string good = "parameters: {i: [1]}\n";
  EXPECT_THAT(refusal("parameters: {i: []}\n", {}), HasSubstr("space.yaml, line 1: "));
  EXPECT_THAT(refusal(good + "slots: 3\n", {"-n", "2"}),
              HasSubstr("a trial needs 3 slots on one host, and the host has 2"));
  EXPECT_THAT(refusal(good, {"--max-trials", "0"}), HasSubstr("--max-trials must be 1 or more"));
  EXPECT_THAT(refusal(good, {"--until", "loss"}), HasSubstr("--until"));
  EXPECT_THAT(refusal("metric: speed\n" + good, {}),
              HasSubstr("add 'direction: min' or 'direction: max'"));
  EXPECT_THAT(refusal(good, {"--folders", "x"}), HasSubstr("did you mean --folder?"));
}

TEST_F(SweepTest, RequestsThatMakeNoSenseAreRefused) {
  BprunProcess sweep = start("parameters: {i: [1]}\n", "true", {});
  ASSERT_EQ(sweep.finish(), 0) << sweep.err();
  const auto refusal = [](std::vector<std::string> words, int code) {
    words.insert(words.begin(), "sweep");
    BprunProcess bprun({std::move(words)});
    EXPECT_EQ(bprun.finish(), code);
    return bprun.err();
  };
  EXPECT_THAT(refusal({"stop", folder()}, 2),
              HasSubstr("no process of this machine runs the sweep"));
  EXPECT_THAT(refusal({"stop", folder(), "0"}, 2), HasSubstr("trial 0 is finished; only a trial"));
  EXPECT_THAT(refusal({"retry", folder(), "7"}, 2), HasSubstr("there is no trial 7 in "));
  EXPECT_THAT(refusal({"status", folder() + "x"}, 66), HasSubstr("there is no "));
  const std::string space = folder() + ".yaml";
  EXPECT_THAT(refusal({space, "--", "true"}, 66),
              HasSubstr("cannot read " + space + ": No such file or directory"));
  ASSERT_EQ(::mkfifo(space.c_str(), 0600), 0);  // to which nobody writes
  EXPECT_THAT(refusal({space, "--", "true"}, 66),
              HasSubstr("cannot read " + space + ": it is a pipe, not a regular file"));
}

TEST_F(SweepTest, ADryRunListsEveryTrialAndStartsNothing) {
  const std::string space = "parameters: {i: [1, 2], j: [a b]}\n";
  BprunProcess text = start(space, "true", {"--dry-run"}, {"{i}"});
  EXPECT_EQ(text.finish(), 0) << text.err();
  EXPECT_THAT(text.out(), HasSubstr("trial 1, 1 slot: sh -c true sh 2 -j 'a b'\n2 trials; "));
  BprunProcess as_json = start(space, "true", {"--dry-run", "--json"}, {"{i}"});
  EXPECT_EQ(as_json.finish(), 0) << as_json.err();
  const json trials = json::parse(as_json.out())["trials"];
  EXPECT_EQ(trials[1]["command"], json({"sh", "-c", "true", "sh", "2", "-j", "a b"}));
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

// docs/features.md, Searches: The time that a search takes, before it starts | `bprun sweep
// --dry-run --estimate`
TEST_F(SweepTest, ADryRunTellsTheTimeByTrialsThatHaveFinished) {
  const auto sweep = [this](std::vector<std::string> options) {
    return start("parameters: {i: {range: [1, 9, 1]}}\n", "sleep 0.2", std::move(options));
  };
  BprunProcess before = sweep({"--dry-run", "--estimate"});
  EXPECT_EQ(before.finish(), 0) << before.err();
  EXPECT_THAT(before.out(), Not(HasSubstr("time: ")));
  EXPECT_THAT(before.err(), HasSubstr("no estimate of the time: only bert_train can estimate"));
  BprunProcess some = sweep({"--max-trials", "2"});
  ASSERT_EQ(some.finish(), 0) << some.err();
  BprunProcess text = sweep({"--dry-run", "-n", "4"});
  EXPECT_EQ(text.finish(), 0) << text.err();
  EXPECT_THAT(text.out(), testing::ContainsRegex(
                              "\ntime: [0-9.]+ s a trial, by 2 trials that have finished in .*; "
                              "about [0-9.]+ s for 7 trials\n"));
  BprunProcess as_json = sweep({"--dry-run", "--json", "-n", "4"});
  EXPECT_EQ(as_json.finish(), 0) << as_json.err();
  const json time = json::parse(as_json.out())["time"];
  EXPECT_GE(time["trial_seconds"], 0.2);
  EXPECT_DOUBLE_EQ(time["seconds"], 2 * time["trial_seconds"].get<double>()) << "in two rounds";
}

TEST_F(SweepTest, AReachedValueEndsTheSweep) {
  const auto sweep = [this] {
    return start("metric: loss\nparameters: {i: {range: [1, 9, 1]}}\n",
                 "echo $1 >>$D/begun; echo bp: metric $((5 - $1)); sleep 0.3; [ $1 -lt 3 ] || "
                 "exec sleep 1000",
                 {"--until", "loss<2"});
  };
  BprunProcess first = sweep();
  EXPECT_EQ(first.finish(), 0) << first.err();
  EXPECT_THAT(first.err(), HasSubstr("trial 2 has reached --until loss<2"));
  EXPECT_EQ(lines("begun"), numbers_to(3));
  BprunProcess again = sweep();
  EXPECT_EQ(again.finish(), 0) << again.err();
  EXPECT_EQ(lines("begun"), numbers_to(3)) << "it has been reached already";
}

TEST_F(SweepTest, NoHostThatAnswersEndsTheSweep) {
  BprunProcess sweep = start("parameters: {i: [1]}\n", "true",
                             {"-H", "far:1", "--ssh", "sh -c 'echo no route >&2; exit 255'"});
  EXPECT_EQ(sweep.finish(), 75);
  EXPECT_THAT(sweep.err(), HasSubstr("host far is lost (no route); trying again"));
  EXPECT_THAT(sweep.err(), HasSubstr("no host could be reached, so no trial was started"));
}

TEST_F(SweepTest, AnotherSpaceInTheSameFolderIsRefused) {
  BprunProcess first = start("parameters: {i: [1]}\n", "true", {});
  EXPECT_EQ(first.finish(), 0) << first.err();
  BprunProcess other = start("parameters: {i: [2]}\n", "true", {});
  EXPECT_EQ(other.finish(), 2);
  EXPECT_THAT(other.err(), HasSubstr("holds a sweep of another version of "));
}

}  // namespace
}  // namespace bp::test
