// The option --config FILE.yaml.
#include "trainer/options/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>

#include <cstdlib>
#include <variant>

#include "base/system/home_path.h"
#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/commands/command_line.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

class ConfigFile : public testing::Test {
 protected:
  TrainOptions parse(const std::string& yaml, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--config", scratch_.write("my.yaml", yaml)});
    return std::get<TrainOptions>(parse_command_line(arguments).options);
  }

  void expect_refused(int code,
                      const std::string& yaml,
                      const std::string& text,
                      const std::string& hint) {
    expect_input_error(code, text, hint, [&] { (void)parse(yaml, {"d.csv"}); });
  }

  static std::string origin_of(const TrainOptions& options, const std::string& key) {
    for (const Setting& setting : options.settings) {
      if (setting.key == key) return concat(setting.value, " by ", setting.origin);
    }
    return "not there";
  }

  Scratch scratch_;
};

// docs/features.md, Use: A YAML file of options, with `~` | `--config`
TEST_F(ConfigFile, SetsWhatTheCommandLineDoesNot) {
  const TrainOptions options = parse(
      "data: r.csv\nbatch: 64   # many\nlr: 3e-4\nsplit: [0.5, 0.25, 0.25]\nheader: yes\n"
      "rebuild: true\nsteps:\nmodel: small\n",
      {"--batch=16", "--model", "tiny"});
  EXPECT_EQ(options.prepare.source, "r.csv");
  EXPECT_EQ(options.batch, 16);
  EXPECT_EQ(options.model, "tiny");
  EXPECT_EQ(options.lr, 3e-4);
  EXPECT_EQ(options.prepare.split[1], 0.25);
  EXPECT_EQ(options.prepare.divider, Divider::shares);
  EXPECT_EQ(options.prepare.header, HeaderMode::yes);
  EXPECT_TRUE(options.prepare.rebuild);
  EXPECT_EQ(options.steps, 0);
  const std::string file = scratch_.path("my.yaml");
  EXPECT_EQ(origin_of(options, "batch"), "16 by command line");
  EXPECT_EQ(origin_of(options, "lr"), "3e-04 by " + file);
  EXPECT_EQ(origin_of(options, "data"), "r.csv by " + file);
  EXPECT_EQ(origin_of(options, "rebuild"), "true by " + file);
  EXPECT_EQ(origin_of(options, "epsilon"), "1e-08 by default");
  EXPECT_EQ(origin_of(options, "config"), file + " by command line");
  EXPECT_EQ(parse("data: r.csv\n", {"other.csv"}).prepare.source, "other.csv");
}

TEST_F(ConfigFile, MayBeThatOfARun) {
  TrainOptions first =
      std::get<TrainOptions>(parse_command_line({"r.csv", "--batch", "7", "--seed", "3"}).options);
  // A run sets these values itself.
  for (const char* key :
       {"lr", "epochs", "steps", "loss-scale", "dropout", "eval-every", "save-every"}) {
    set(first.settings, {key, "", "default"});
  }
  const TrainOptions again = parse(settings_yaml(first.settings), {"--seed", "4"});
  EXPECT_EQ(again.prepare.source, "r.csv");
  EXPECT_EQ(again.batch, 7);
  EXPECT_EQ(again.seed, 4U);
}

TEST_F(ConfigFile, MistakesNameTheLineAndTheNearestKey) {
  expect_refused(2, "batch: 8\nepoch: 3\n", "my.yaml, line 2: unknown key 'epoch'",
                 "did you mean 'epochs'?");
  expect_refused(65, "batch: 8\nbatch: 9\n", "my.yaml, line 2: 'batch' is given twice", "");
  expect_refused(65, "batch: {a: 1}\n", "line 1: an option has one value, not a map", "");
  expect_refused(65, "split: [[1], 2]\n", "line 1: a list of lists or maps is not a value", "");
  expect_refused(65, "- batch\n", "line 1: this is not a list of options", "long name, a colon");
  expect_refused(65, "batch: [8\nx", "my.yaml, line ", "");
  expect_refused(65, "batch: 8\n---\nlr: 1\n", "my.yaml, line 3: a second document begins", "");
  EXPECT_FALSE(parse("cased: True\n", {"d.csv"}).prepare.lower_case) << "as YAML 1.1 writes it";
  expect_input_error(66, "pipe.yaml: it is a pipe", "a pipe must be written to a file first", [&] {
    ASSERT_EQ(::mkfifo(scratch_.path("pipe.yaml").c_str(), 0600), 0);
    (void)parse_command_line({"d.csv", "--config", scratch_.path("pipe.yaml")});
  });
  expect_input_error(66, "cannot read the configuration ", "check the name", [&] {
    (void)parse_command_line({"d.csv", "--config", scratch_.path("none.yaml")});
  });
  EXPECT_EQ(parse("", {"d.csv"}).prepare.source, "d.csv");
}

// docs/acceptance.md, Runs: A bad value in a config file is named with its line.
TEST_F(ConfigFile, BadValuesNameTheirLine) {
  const auto refused_in_line_2 = [&](const std::string& line, const std::string& text,
                                     const std::string& hint) {
    expect_refused(2, "seed: 1\n" + line + "\n", concat("my.yaml, line 2: ", text), hint);
  };
  refused_in_line_2("batch: many", "--batch: 'many' is not a whole number", "--help");
  refused_in_line_2("precision: bf61", "--precision: 'bf61' is none of", "did you mean 'bf16'?");
  refused_in_line_2("split: [0.8]", "--split: '0.8' is not two or three shares", "0.8,0.1,0.1");
  refused_in_line_2("split: [0.8, 0.1, 0.2]", "split 0.8,0.1,0.2 does not divide", "sum to 1");
  refused_in_line_2("separator: semikolon", "--separator: 'semikolon'",
                    "did you mean 'semicolon'?");
  refused_in_line_2("rebuild: maybe", "rebuild: 'maybe' is neither true nor false",
                    "rebuild: true");
  refused_in_line_2("batch_size: 8", "unknown key 'batch_size'", "here it is called --batch");
  try {
    (void)parse("batch: 8\n", {"d.csv", "--batch", "none"});
    ADD_FAILURE() << "the command line was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("--batch: 'none'"))
        << "the value is not from the file";
  }
}

TEST_F(ConfigFile, AValueWithoutEffectIsRefusedUnlessTheCommandLineTookItsEffect) {
  expect_refused(2, "lora-alpha: 32\n", "--lora-alpha has no effect without --lora",
                 "add --lora 8, or leave out --lora-alpha");
  expect_refused(2, "power: 2\n", "--power has no effect with --schedule linear",
                 "leave it out, or choose --schedule polynomial");
  const std::string of_run = "lora: 8\nlora-alpha: 32\nschedule: polynomial\npower: 2\n";
  EXPECT_EQ(parse(of_run, {"d.csv", "--lora", "0", "--schedule", "linear"}).lora.rank, 0);
  EXPECT_EQ(parse("lora: 0\nlora-alpha: 16\n", {"d.csv"}).lora.rank, 0) << "it is the default";
}

// bert_train once created a folder named "~", where users did not find their run.
// docs/acceptance.md, Runs: `~` in a config file is the home folder.
TEST_F(ConfigFile, ATildeIsTheHomeFolder) {
  const char* const before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  ASSERT_EQ(::setenv("HOME", "/home/me", 1), 0);
  const TrainOptions options = parse(
      "data: ~/r.csv\nrun: ~/runs/a\nstore: ~/s.sqlite\nmodel: ~/bert\nvocab: ~/v.txt\ndev: ~/d\n"
      "test: ~/t\ntrace: '~'\nresume: ~/runs/b\ntext: ~text\nlabel: a~/b\n",
      {});
  EXPECT_EQ(options.prepare.source, "/home/me/r.csv");
  EXPECT_EQ(options.run, "/home/me/runs/a");
  EXPECT_EQ(options.prepare.store, "/home/me/s.sqlite");
  EXPECT_EQ(options.model, "/home/me/bert");
  EXPECT_EQ(options.prepare.vocabulary, "/home/me/v.txt");
  EXPECT_EQ(options.prepare.dev_source, "/home/me/d");
  EXPECT_EQ(options.prepare.test_source, "/home/me/t");
  EXPECT_EQ(options.trace, "/home/me");
  EXPECT_EQ(options.resume, "/home/me/runs/b");
  EXPECT_EQ(options.task->fields()[0].column, "~text") << "a column is not a path";
  EXPECT_EQ(origin_of(options, "run"), "/home/me/runs/a by " + scratch_.path("my.yaml"));
  EXPECT_EQ(parse("", {"d.csv", "--run=~/x"}).run, "/home/me/x")
      << "a shell does not replace this tilde";
  EXPECT_EQ(parse("", {"./~/d.csv"}).prepare.source, "./~/d.csv");
  const passwd* const root = ::getpwnam("root");
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(expand_home("~root/x"), std::string(root->pw_dir) + "/x");
  EXPECT_EQ(expand_home("~nobody-of-this-name/x"), "~nobody-of-this-name/x");
  ASSERT_EQ(::setenv("HOME", home.c_str(), 1), 0);
}

}  // namespace
}  // namespace bp::trainer
