// --config FILE.yaml.
#include "trainer/train/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/base/text.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/train/command_line.h"
#include "trainer/train/run_folder.h"

namespace bp::trainer {
namespace {

class ConfigFile : public testing::Test {
 protected:
  Options parse(const std::string& yaml, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--config", scratch_.write("my.yaml", yaml)});
    return parse_command_line(arguments).options;
  }

  void expect_refused(int code,
                      const std::string& yaml,
                      const std::string& text,
                      const std::string& hint) {
    expect_input_error(code, text, hint, [&] { (void)parse(yaml, {"d.csv"}); });
  }

  static std::string origin_of(const Options& options, const std::string& key) {
    for (const Setting& setting : options.settings) {
      if (setting.key == key) return concat(setting.value, " by ", setting.origin);
    }
    return "not there";
  }

  Scratch scratch_;
};

TEST_F(ConfigFile, SetsWhatTheCommandLineDoesNot) {
  const Options options = parse(
      "data: r.csv\nbatch: 64   # many\nlr: 3e-4\nsplit: [0.5, 0.25, 0.25]\nheader: yes\n"
      "rebuild: true\nsteps:\nmodel: small\n",
      {"--batch=16", "--model", "tiny"});
  EXPECT_EQ(options.data, "r.csv");
  EXPECT_EQ(options.batch, 16);
  EXPECT_EQ(options.model, "tiny");
  EXPECT_EQ(options.lr, 3e-4);
  EXPECT_EQ(options.prepare.split[1], 0.25);
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
  EXPECT_EQ(parse("data: r.csv\n", {"other.csv"}).data, "other.csv");
}

TEST_F(ConfigFile, OfARunIsOne) {
  Options first = parse_command_line({"r.csv", "--batch", "7", "--seed", "3"}).options;
  // What a run decides itself.
  for (const char* key : {"lr", "epochs", "steps", "dropout", "eval-every", "save-every"}) {
    set(first.settings, {key, "", "default"});
  }
  const Options again = parse(settings_yaml(first.settings), {"--seed", "4"});
  EXPECT_EQ(again.data, "r.csv");
  EXPECT_EQ(again.batch, 7);
  EXPECT_EQ(again.seed, 4U);
}

TEST_F(ConfigFile, MistakesNameTheLineAndTheNearestKey) {
  expect_refused(2, "batch: 8\nepoch: 3\n", "my.yaml, line 2: unknown key 'epoch'",
                 "did you mean 'epochs'?");
  expect_refused(65, "batch: 8\nbatch: 9\n", "my.yaml, line 2: 'batch' is given twice", "");
  expect_refused(65, "batch: {a: 1}\n", "line 1: an option has one value, not a map", "");
  expect_refused(65, "split: [[1], 2]\n", "line 1: a list of lists or maps is no value", "");
  expect_refused(65, "- batch\n", "line 1: this is not a list of options", "long name, a colon");
  expect_refused(65, "batch: [8\nx", "my.yaml, line ", "");
  expect_refused(2, "batch: many\n", "--batch: 'many' is no whole number", "");
  expect_input_error(66, "cannot read the configuration ", "check the name", [&] {
    (void)parse_command_line({"d.csv", "--config", scratch_.path("none.yaml")});
  });
  EXPECT_EQ(parse("", {"d.csv"}).data, "d.csv");
}

}  // namespace
}  // namespace bp::trainer
