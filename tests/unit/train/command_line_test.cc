// How command lines are parsed, and the errors for mistakes.
#include "trainer/commands/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>

#include "base/input_error.h"
#include "base/text.h"
#include "tests/support/scratch.h"
#include "trainer/report/json.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

template <class Command = TrainOptions>
Command parse(const std::vector<std::string>& arguments) {
  return std::get<Command>(parse_command_line(arguments).options);
}

// Returns "text | hint" of the error, whose exit code must be 2.
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    (void)parse_command_line(arguments);
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return concat(error.what(), " | ", error.hint());
  }
  ADD_FAILURE() << "the command line was accepted";
  return "";
}

std::string origin_of(const TrainOptions& options, const std::string& key) {
  for (const Setting& setting : options.settings) {
    if (setting.key == key) return setting.value + " by " + setting.origin;
  }
  return "not there";
}

TEST(CommandLine, TakesAWholeCommand) {
  const TrainOptions o = parse({"sentiment-train",
                                "--dev",
                                "d",
                                "--test",
                                "t",
                                "--text",
                                "1",
                                "--label",
                                "2",
                                "--vocab",
                                "vocab.txt",
                                "--model",
                                "tiny",
                                "--epochs",
                                "3",
                                "--batch",
                                "32",
                                "--store",
                                "s.sqlite",
                                "--run",
                                "r"});
  EXPECT_EQ(o.prepare.source, "sentiment-train");
  EXPECT_EQ(o.prepare.dev_source, "d");
  EXPECT_EQ(o.task->fields()[0].column, "1");
  EXPECT_EQ(o.prepare.vocabulary, "vocab.txt");
  EXPECT_EQ(o.prepare.store, "s.sqlite");
  EXPECT_EQ(o.run, "r");
  EXPECT_EQ(o.batch, 32);
}

TEST(CommandLine, ValuesReachTheirOptions) {
  const TrainOptions o = parse({"x.csv",
                                "--steps=20",
                                "--accumulate=2",
                                "--lr=1e-4",
                                "--epsilon=1e-6",
                                "--warmup=0",
                                "--clip",
                                "0",
                                "--dropout",
                                "0",
                                "--precision",
                                "bf16",
                                "--wire",
                                "fp16",
                                "--loss-scale",
                                "1024",
                                "--error-feedback",
                                "--max-length",
                                "64",
                                "--long-text",
                                "truncate",
                                "--split",
                                "0.5,0.25,0.25",
                                "--seed",
                                "7",
                                "--format",
                                "tsv",
                                "--header",
                                "no",
                                "--rebuild",
                                "--separator",
                                "semicolon",
                                "--trim-labels",
                                "--round-labels",
                                "--dedupe",
                                "--eval-every",
                                "5",
                                "--vocab-size",
                                "500",
                                "--vocab-kind",
                                "bpe",
                                "--save-every",
                                "50",
                                "--keep=3",
                                "--keep-best=4",
                                "--resume",
                                "runs/a",
                                "--encoding",
                                "Latin-1",
                                "--limit",
                                "1000",
                                "--cased"});
  EXPECT_EQ(o.steps, 20);
  EXPECT_EQ(o.accumulate, 2);
  EXPECT_EQ(o.lr, 1e-4);
  EXPECT_EQ(o.epsilon, 1e-6);
  EXPECT_EQ(o.warmup, 0);
  EXPECT_EQ(o.clip, 0);
  EXPECT_EQ(o.dropout, 0);
  EXPECT_EQ(o.precision, Precision::bf16);
  EXPECT_EQ(o.wire, DataType::f16);
  EXPECT_EQ(o.loss_scale, 1024);
  EXPECT_TRUE(o.error_feedback);
  EXPECT_EQ(o.prepare.max_length, 64);
  EXPECT_EQ(o.prepare.long_text, LongText::truncate);
  EXPECT_EQ(o.prepare.split[1], 0.25);
  EXPECT_EQ(o.seed, 7U);
  EXPECT_EQ(o.prepare.format, TextFormat::tsv);
  EXPECT_EQ(o.prepare.header, HeaderMode::no);
  EXPECT_EQ(o.prepare.separator, ';');
  EXPECT_EQ(o.prepare.encoding, "iso-8859-1");
  EXPECT_EQ(o.task->fingerprint(), (Fingerprint{{"blanks around labels", "removed"},
                                                {"labels that are numbers", "rounded"}}));
  EXPECT_TRUE(o.prepare.dedupe);
  EXPECT_EQ(o.prepare.limit, 1000);
  EXPECT_FALSE(o.prepare.lower_case);
  EXPECT_TRUE(o.prepare.rebuild);
  EXPECT_EQ(o.eval_every.at(0).steps, 5);
  EXPECT_EQ(o.save_every.at(0).steps, 50);
  EXPECT_EQ(o.keep, 3);
  EXPECT_EQ(o.keep_best, 4);
  EXPECT_EQ(o.resume, "runs/a");
  EXPECT_EQ(o.prepare.vocabulary_size, 500);
  EXPECT_EQ(o.prepare.vocabulary_kind, VocabularyKind::byte_pairs);
}

TEST(CommandLine, SplitSaysWhoDividesTheRows) {
  EXPECT_EQ(parse({"x.csv"}).prepare.divider, Divider::data_or_shares);
  EXPECT_EQ(parse({"x.csv", "--split", "data"}).prepare.divider, Divider::data);
  EXPECT_EQ(parse({"x.csv", "--split", "0.8,0.1,0.1"}).prepare.divider, Divider::shares);
  EXPECT_EQ(parse({"x.csv", "--split", "0.8,0.1"}).prepare.split,
            (std::array<double, 3>{0.8, 0.1, 0.1}));
  EXPECT_THAT(refusal({"x.csv", "--split", "dta"}), HasSubstr("or data, as DATA divides them"));
}

TEST(CommandLine, IsKeptAsTyped) {
  const std::vector<std::string> typed = {"x.csv", "--batch=8", "--resume", "never"};
  EXPECT_EQ(parse(typed).arguments, typed);
}

TEST(CommandLine, SettingsKnowTheirOrigin) {
  const TrainOptions o = parse({"x.csv", "--batch", "8"});
  EXPECT_EQ(origin_of(o, "batch"), "8 by command line");
  EXPECT_EQ(origin_of(o, "accumulate"), "1 by default");
  EXPECT_EQ(origin_of(o, "data"), "x.csv by command line");
  EXPECT_EQ(origin_of(o, "precision"), "fp32 by default");
  EXPECT_EQ(parse({"x.csv", "--precision", "auto"}).precision, Precision::automatic);
}

TEST(CommandLine, SettingsKnowWhatResumingDoesWithThem) {
  const auto rule = [](const std::string& key) {
    const TrainOptions o = parse({"x.csv"});
    const auto same = std::ranges::find(o.settings, key, &Setting::key);
    return same == o.settings.end() ? "none" : std::to_string(static_cast<int>(same->on_resume));
  };
  const std::string free = std::to_string(static_cast<int>(OnResume::free));
  const std::string reason = std::to_string(static_cast<int>(OnResume::reason));
  const std::string told = std::to_string(static_cast<int>(OnResume::told));
  for (const char* key : {"run", "seed", "optimizer", "momentum", "label", "device", "store",
                          "overfit", "trace", "checkpoint-activations", "lora"}) {
    EXPECT_EQ(rule(key), free) << key;
  }
  for (const char* key : {"data", "also", "test", "split", "max-length", "vocab", "cased"}) {
    EXPECT_EQ(rule(key), reason) << key;
  }
  for (const char* key : {"epochs", "batch", "nesterov", "wire", "r-drop", "dropout", "max-time",
                          "lora-dropout", "final", "save-every"}) {
    EXPECT_EQ(rule(key), told) << key;
  }
}

TEST(CommandLine, AnOptionIsGivenOnce) {
  EXPECT_EQ(refusal({"x.csv", "--lr", "1e-3", "--lr=1e-5"}),
            "--lr is given twice | leave out one of the two");
  EXPECT_EQ(parse({"x.csv", "--also", "a.csv", "--also", "b.csv"}).prepare.more_sources,
            (std::vector<std::string>{"a.csv", "b.csv"}))
      << "a list may be given in parts";
}

TEST(CommandLine, DurationsAreThoseOfBprun) {
  using std::chrono::seconds;
  EXPECT_EQ(parse({"x.csv", "--max-time", "1.5h"}).early_stop.max_time, seconds(5400));
  EXPECT_EQ(parse({"x.csv", "--max-time", "2h30m"}).early_stop.max_time, seconds(9000));
  EXPECT_EQ(refusal({"x.csv", "--max-time", "soon"}),
            "--max-time: 'soon' is not a time | with d, h, m, s or ms: 45s, 1.5h, 2h30m");
}

TEST(CommandLine, MistakesGetTheNearestRightWord) {
  EXPECT_EQ(refusal({"x.csv", "--epoch", "3"}),
            "unknown option --epoch | did you mean '--epochs'?");
  EXPECT_EQ(refusal({"x.csv", "--epoch=3"}), "unknown option --epoch | did you mean '--epochs'?");
  EXPECT_EQ(refusal({"x.csv", "--precision", "bf61"}),
            "--precision: 'bf61' is none of fp32|fp16|bf16|auto | did you mean 'bf16'?");
  EXPECT_EQ(
      refusal({"x.csv", "--error-feedback"}),
      "--error-feedback: gradients are not rounded for --wire fp32 | add --wire bf16, fp16 or "
      "int8, or leave out --error-feedback");
  EXPECT_THAT(refusal({"x.csv", "--wire", "int8", "--shard", "gradients"}),
              HasSubstr("--wire int8 keeps each rank's gradient, which --shard gradients frees"));
  EXPECT_THAT(refusal({"x.csv", "--wire", "bf16", "--error-feedback", "--shard", "gradients"}),
              HasSubstr("--error-feedback keeps each rank's gradient"));
  EXPECT_THAT(refusal({"x.csv", "--shard", "optimizer", "--shard-shares", "a:3,b"}),
              HasSubstr("--shard-shares: 'b' is not the share of one more host | equal, auto, or"));
  EXPECT_THAT(refusal({"x.csv", "--shard", "optimizer", "--shard-shares", "a:0,b:0"}),
              HasSubstr("gives nobody a share"));
  EXPECT_THAT(refusal({"x.csv", "--check-gradients", "1", "--shard", "optimizer"}),
              HasSubstr("--check-gradients compares gradients that all ranks have"));
  EXPECT_THAT(refusal({"x.csv", "--batch", "0"}),
              HasSubstr("--batch: '0' is not a whole number between 1 and 1000000"));
  EXPECT_THAT(refusal({"x.csv", "--batch", "3.5"}), HasSubstr("'3.5' is not a whole number"));
  EXPECT_THAT(refusal({"x.csv", "--lr", "fast"}), HasSubstr("--lr: 'fast' is not a number"));
  EXPECT_THAT(refusal({"x.csv", "--lr", "nan"}), HasSubstr("--lr: 'nan' is not a number"));
  EXPECT_THAT(refusal({"x.csv", "--steps", "0"}),
              HasSubstr("'0' is not a whole number at least 1"));
  for (const char* split : {"0.8", "0.8,", "0.8,x", "0.8 0.2", "0.7,0.1,0.1,0.1", ""}) {
    EXPECT_THAT(refusal({"x.csv", "--split", split}), HasSubstr("is not two or three shares"));
  }
  EXPECT_THAT(refusal({"x.csv", "--split", "0.8,0.3"}), HasSubstr("does not divide into train"));
  EXPECT_THAT(refusal({"x.csv", "y.csv"}), HasSubstr("unexpected argument 'y.csv'"));
  EXPECT_THAT(refusal({}), HasSubstr("DATA"));
  EXPECT_THAT(refusal({"x.csv", "--batch"}), HasSubstr("--batch"));
}

// docs/acceptance.md, Runs: Options of other trainers get a hint.
TEST(CommandLine, OptionsOfOtherTrainersGetAHint) {
  const auto hint = [](const std::string& option) {
    const std::string text = refusal({"x.csv", option, "1"});
    return text.substr(text.find(" | ") + 3);
  };
  EXPECT_EQ(hint("--batch-size"), "here it is called --batch");
  EXPECT_EQ(hint("--per_device_train_batch_size"), "here it is called --batch");
  EXPECT_EQ(hint("--learning_rate"), "here it is called --lr");
  EXPECT_EQ(hint("--output_dir"), "here it is called --run");
  EXPECT_EQ(hint("--weight_decay"), "did you mean '--weight-decay'?");
  EXPECT_EQ(hint("--delimiter"), "here it is called --separator");
  EXPECT_EQ(hint("--charset"), "here it is called --encoding");
  EXPECT_EQ(hint("--bf16"), "here it is called --precision bf16");
  EXPECT_EQ(hint("--fp16"), "here it is called --precision fp16");
  EXPECT_EQ(hint("--initial-loss-scale"), "here it is called --loss-scale");
  EXPECT_EQ(hint("-np"), "the number of ranks is bprun's: bprun -n 2 bert_train ...");
  EXPECT_EQ(refusal({"stop", "runs/a", "--output_dir", "b"}),
            "unknown option --output_dir | bert_train stop --help lists all options")
      << "a hint names only options of the same command";
}

// docs/acceptance.md, Runs: A misspelt command gets the right one.
TEST(CommandLine, MisspeltCommandsGetTheRightOne) {
  EXPECT_EQ(refusal({"evla", "runs/a"}),
            "'evla' is neither a file nor a command | did you mean 'bert_train eval RUN'?");
  EXPECT_THAT(refusal({"prpe", "x.csv"}), HasSubstr("did you mean 'bert_train prep DATA'?"));
  EXPECT_THAT(refusal({"evaluate", "runs/a"}), HasSubstr("did you mean 'bert_train eval RUN'?"));
  EXPECT_THAT(refusal({"infer", "runs/a"}),
              HasSubstr("did you mean 'bert_train predict RUN DATA'?"));
  EXPECT_THAT(refusal({"train", "x.csv"}), HasSubstr("did you mean 'bert_train DATA'?"));
  EXPECT_THAT(refusal({"help"}), HasSubstr("did you mean 'bert_train --help'?"));
  EXPECT_EQ(parse({"stop.csv"}).prepare.source, "stop.csv");
  EXPECT_EQ(parse({"data/evla"}).prepare.source, "data/evla");
}

TEST(CommandLine, EveryCommandIsFoundWhenItsLastLetterIsDoubled) {
  const std::string help = parse_command_line({"--help"}).instead;
  const std::string list = help.substr(help.find("Other commands"));
  const std::string line_begin = "\n  bert_train ";
  int commands = 0;
  for (std::size_t at = list.find(line_begin); at != std::string::npos;
       at = list.find(line_begin, at + 1)) {
    const std::size_t begin = at + line_begin.size();
    const std::string name = list.substr(begin, list.find(' ', begin) - begin);
    EXPECT_THAT(refusal({name + name.back(), "x"}),
                HasSubstr("did you mean 'bert_train " + name + " "));
    ++commands;
  }
  EXPECT_GE(commands, 14);
}

TEST(CommandLine, UsageAndHintsNameTheCommand) {
  EXPECT_THAT(parse_command_line({"--help"}).instead,
              HasSubstr("Usage: bert_train [OPTIONS] DATA"));
  EXPECT_THAT(parse_command_line({"eval", "-h"}).instead,
              HasSubstr("Usage: bert_train eval [OPTIONS] RUN [DATA]"));
  EXPECT_THAT(parse_command_line({"prep", "-h"}).instead,
              HasSubstr("Usage: bert_train prep [OPTIONS] DATA"));
  EXPECT_THAT(parse_command_line({"stop", "-h"}).instead,
              HasSubstr("Usage: bert_train stop [OPTIONS] RUN"));
  EXPECT_THAT(refusal({"eval"}), HasSubstr("bert_train eval --help lists all options"));
}

TEST(CommandLine, ATaskIsRefusedWithTheNearest) {
  EXPECT_EQ(parse({"x.csv"}).task->name(), "classify");
  EXPECT_THAT(refusal({"x.csv", "--task", "clasify"}),
              HasSubstr("--task: 'clasify' is none of classify"));
  EXPECT_THAT(refusal({"prep", "x.csv", "--task=clasify"}), HasSubstr("did you mean 'classify'?"));
}

// docs/features.md, Use: All options on the command line | always
TEST(CommandLine, HelpShowsEveryOptionWithItsDefault) {
  const std::string help = parse_command_line({"--help"}).instead;
  for (const char* text :
       {"--batch", "32", "--lr", "0.128/hidden", "--split", "0.8,0.1,0.1", "--run",
        "runs/<name of DATA>", "--precision", "fp32|fp16|bf16|auto", "bert_train prep"}) {
    EXPECT_THAT(help, HasSubstr(text));
  }
  EXPECT_THAT(parse_command_line({"eval", "-h"}).instead, HasSubstr("--on"));
  EXPECT_THAT(parse_command_line({"prep", "-h"}).instead, HasSubstr("--vocab-size"));
}

TEST(CommandLine, HelpFitsEightyColumns) {
  int commands = 0;
  const Json all = Json::parse(parse_command_line({"--help=json"}).instead);
  for (const Json& command : all.at("commands")) {
    ++commands;
    const std::string name = command.at("command");  // "bert_train", "bert_train prep"
    const std::size_t blank = name.find(' ');
    for (const std::string& task : task_names()) {
      std::vector<std::string> arguments = {"-h", "--task", task};
      if (blank != std::string::npos) arguments.insert(arguments.begin(), name.substr(blank + 1));
      std::istringstream lines(parse_command_line(arguments).instead);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80U) << name << ": " << line;
      }
    }
  }
  EXPECT_GE(commands, 15);
}

TEST(CommandLine, WordsThatBeginWithADashMayBePaths) {
  EXPECT_EQ(parse({"--epochs", "2", "--", "-dash.csv"}).prepare.source, "-dash.csv");
  EXPECT_EQ(parse<ReportOptions>({"report", "--", "-a", "--out"}).sources,
            (std::vector<std::string>{"-a", "--out"}));
  EXPECT_EQ(refusal({"stop", "--", "-r", "--out"}),
            "unexpected argument '--out' after -- | options stand before --");
  EXPECT_EQ(refusal({"--", "-r", "extra"}),
            "unexpected argument 'extra' after -- | bert_train --help lists all options");
  const Scratch scratch;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path(""));
  std::filesystem::create_directory("-dashrun");
  EXPECT_EQ(refusal({"report", "-dashrun"}),
            "unknown option -dashrun | the path of a file or folder that begins with - is written "
            "./-dashrun");
  std::filesystem::current_path(before);
  EXPECT_EQ(refusal({"report", "-dashrun"}),
            "unknown option -dashrun | bert_train report --help lists all options");
}

TEST(CommandLine, CommandsHaveTheirOwnOptions) {
  EXPECT_EQ(parse<PrepOptions>({"prep", "x.csv"}).prepare.source, "x.csv");
  EXPECT_THAT(refusal({"prep", "x.csv", "--epochs", "2"}), HasSubstr("unknown option --epochs"));
  EXPECT_EQ(parse<StopOptions>({"stop", "runs/a"}).run, "runs/a");
  EXPECT_THAT(refusal({"stop"}), HasSubstr("RUN"));
}

TEST(CommandLine, LaterSettingsReplaceEarlierOnes) {
  std::vector<Setting> settings = {{"lr", "0", "default"}};
  set(settings, {"lr", "0.001", "default for this model"});
  set(settings, {"run", "r", ""});
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].value, "0.001");
}

}  // namespace
}  // namespace bp::trainer
