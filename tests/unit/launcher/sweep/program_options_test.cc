// SPACE against the options that a program names with --help=json.
#include "launcher/sweep/commands/program_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/sweep/space/space.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace bp::launcher::sweep {
namespace {

using testing::HasSubstr;

constexpr const char* kHelp = R"({"program": "bert_train", "commands": [{"command": "bert_train",
  "options": [
    {"name": "DATA", "type": "paths", "positional": true},
    {"name": "lr", "type": "number", "least": 0, "most": 1, "positional": false,
     "others": ["learning-rate", "precise=bf16"]},
    {"name": "rates", "type": "list", "least": 0, "most": 1, "whole": false, "positional": false},
    {"name": "counts", "type": "list", "least": 1, "whole": true, "positional": false},
    {"name": "freeze", "type": "list", "positional": false},
    {"name": "run", "type": "path", "positional": false},
    {"name": "batch", "type": "integer", "least": 1, "positional": false},
    {"name": "lower", "type": "flag", "positional": false},
    {"name": "model", "type": "text", "suggested": ["tiny"], "positional": false},
    {"name": "schedule", "type": "choice", "choices": ["linear", "cosine"], "positional": false}
  ]}]})";

std::string problem_of(const std::string& parameters,
                       const std::vector<std::string>& words = {"bert_train", "d.csv"},
                       const std::string& help = kHelp) {
  const Space space =
      parse_space("sampler: random\ntrials: 2\nparameters:\n  " + parameters + "\n", "s.yaml");
  return test::refusal_of([&] {
    check_parameters("s.yaml", space.blocks.front(), words, help);
    return 0;
  });
}

TEST(ProgramOptions, FitAreAccepted) {
  for (const char* fits :
       {"lr: {loguniform: [1e-5, 1e-4]}", "batch: [4, 8]", "batch: {range: [1, 9, 2]}",
        "lower: [true, false]", "model: [tiny, /some/folder]", "schedule: [linear]",
        "rates: [0.1, '0.1,0.2']", "counts: ['1,2']", "freeze: ['a,b']"}) {
    EXPECT_EQ(problem_of(fits), "no error") << fits;
  }
}

TEST(ProgramOptions, ThoseThatDoNotExistAreRefusedWithTheirLine) {
  EXPECT_EQ(problem_of("bach: [4, 8]"),
            "s.yaml, line 4: bert_train has no option --bach; did you mean batch?");
  EXPECT_EQ(problem_of("DATA: [a, b]"), "s.yaml, line 4: bert_train has no option --DATA");
  EXPECT_EQ(problem_of("learning_rate: [0.1]"),
            "s.yaml, line 4: bert_train has no option --learning_rate; here it is called lr");
  EXPECT_EQ(problem_of("precise: [true]"),
            "s.yaml, line 4: bert_train has no option --precise; here it is called lr, with the "
            "value bf16");
  EXPECT_EQ(
      problem_of("run: [a, b]"),
      "s.yaml, line 4: --run has no place in a sweep: each trial has a run in its own folder");
}

TEST(ProgramOptions, ValuesThatDoNotFitAreRefused) {
  EXPECT_THAT(problem_of("batch: [4, 0]"),
              HasSubstr("line 4: --batch 0: the option must be at least 1"));
  EXPECT_THAT(problem_of("batch: [4.5]"), HasSubstr("--batch 4.5: the option takes whole numbers"));
  EXPECT_THAT(problem_of("lr: {uniform: [0.1, 2]}"), HasSubstr("the option must be at most 1"));
  EXPECT_THAT(problem_of("lr: [fast]"), HasSubstr("--lr fast: the option takes numbers"));
  EXPECT_THAT(problem_of("rates: [0.1, abc]"), HasSubstr("--rates abc: the option takes numbers"));
  EXPECT_THAT(problem_of("rates: ['0.1,2']"),
              HasSubstr("--rates 0.1,2: the option must be at most"));
  EXPECT_THAT(problem_of("counts: ['1,1.5']"), HasSubstr("the option takes whole numbers"));
  EXPECT_THAT(problem_of("lower: [1]"), HasSubstr("--lower 1: the option takes true or false"));
  EXPECT_THAT(problem_of("schedule: [linear, square]"),
              HasSubstr("--schedule square: the option must be one of"));
}

TEST(ProgramOptions, AParameterOfTheCommandLineIsNotCheckedOrRefused) {
  EXPECT_EQ(problem_of("data: [a, b]", {"bert_train", "{data}.csv"}), "no error");
  EXPECT_THAT(problem_of("lr: [0.5]", {"bert_train", "d.csv", "--lr", "0.1"}),
              HasSubstr("the command line already gives --lr"));
  EXPECT_THAT(problem_of("lr: [0.5]", {"bert_train", "d.csv", "--lr=0.1"}),
              HasSubstr("the command line already gives --lr"));
}

TEST(ProgramOptions, AProgramWithoutJsonIsNotChecked) {
  EXPECT_EQ(problem_of("any: [1]", {"bert_train"}, "usage: bert_train"), "no error");
  EXPECT_EQ(problem_of("any: [1]", {"bert_train"}, ""), "no error");
}

TEST(ProgramOptions, TheProgramIsAskedOnceWithItsTask) {
  const Scratch scratch;
  const std::string path = scratch.write("bert_train", "#!/bin/sh\necho \"$*\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  EXPECT_EQ(options_of_trainer({path, "d.csv", "--task", "gap"}), "--help=json --task gap\n");
  EXPECT_EQ(options_of_trainer({path}), "--help=json\n");
  EXPECT_THAT(test::refusal_of([] { return options_of_trainer({"/no/such/bert_train"}).value(); }),
              HasSubstr("cannot run /no/such/bert_train: "));
}

TEST(ProgramOptions, AnotherProgramIsAskedOnlyIfItCallsBertTrain) {
  const Scratch scratch;
  const auto program = [&](const char* name, const std::string& text) {
    std::string path = scratch.write(name, concat("#!/bin/sh\ntouch $0.ran\n", text));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  };
  const std::string answer = R"({"program":"mine","commands":[]})";
  const std::string extends =
      program("extends", concat("echo '", answer, "' # ", std::string(2'000'000, 'x'),
                                "_ZN2bp14run_bert_trainEiPPcRKNS_10ExtensionsE\n"));
  EXPECT_EQ(options_of_trainer({extends, "d.csv"}), answer + "\n");
  const std::string mentions = program("mentions", "echo run_bert_train\n");
  EXPECT_EQ(options_of_trainer({mentions}), std::nullopt);
  const std::string other = program("other", concat("echo '", answer, "'\n"));
  EXPECT_EQ(options_of_trainer({other}), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(other + ".ran")) << "it was started";
  EXPECT_EQ(options_of_trainer({"/no/such/program"}), std::nullopt);
}

}  // namespace
}  // namespace bp::launcher::sweep
