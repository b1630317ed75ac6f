// What --help says of one topic, as JSON, and to bash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "base/input_error.h"
#include "base/text.h"
#include "tests/support/scratch.h"
#include "trainer/commands/command_line.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string shown(const std::vector<std::string>& arguments) {
  return parse_command_line(arguments).instead;
}

std::string help_refusal(const std::vector<std::string>& arguments) {
  try {
    (void)parse_command_line(arguments);
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return concat(error.what(), " | ", error.hint());
  }
  return "accepted";
}

Json option_of(const Json& command, const std::string& name) {
  for (const Json& option : command.at("options")) {
    if (option.at("name") == name) return option;
  }
  return {};
}

TEST(HelpTopic, HasTheOptionsOfTheTopicAlone) {
  const auto output = AllOf(StartsWith("Output:\n"), HasSubstr("--keep N"), HasSubstr("--run DIR"),
                            Not(HasSubstr("--lr")), HasSubstr("data, model, training, output"));
  EXPECT_THAT(shown({"--help", "output"}), output);
  EXPECT_THAT(shown({"--help=Output"}), output);
  EXPECT_THAT(shown({"x.csv", "-h", "output"}), output);
}

TEST(HelpTopic, MayBeACommand) {
  EXPECT_EQ(shown({"--help", "eval"}), shown({"eval", "--help"}));
  EXPECT_THAT(shown({"predict", "--help", "data"}), StartsWith("Data:\n"));
}

TEST(HelpTopic, MayBeMisspelt) {
  EXPECT_EQ(help_refusal({"--hlep"}), "unknown option --hlep | did you mean '--help'?");
}

TEST(HelpTopic, NamesTheTopicsIfThereIsNoSuch) {
  EXPECT_EQ(help_refusal({"--help", "trainig"}),
            "--help: there is no topic 'trainig' | did you mean 'training'?");
  EXPECT_EQ(help_refusal({"--help", "x.csv"}),
            "--help: there is no topic 'x.csv' | the topics: data, model, training, output, json");
}

TEST(HelpJson, HasEveryOptionThatHelpShows) {
  const Json help = Json::parse(shown({"--help=json"}));
  EXPECT_EQ(help["program"], "bert_train");
  std::set<std::string> commands;
  for (const Json& command : help["commands"]) {
    const std::string words = command["command"];
    commands.insert(words);
    const std::string name = words == "bert_train" ? "" : words.substr(words.find(' ') + 1);
    const std::string text = name.empty() ? shown({"--help"}) : shown({name, "--help"});
    std::set<std::string> listed;
    for (const Json& option : command["options"]) {
      if (!option["positional"]) listed.insert(option["name"]);
    }
    std::set<std::string> in_text;
    for (std::size_t at = 0; (at = text.find("\n  --", at)) != std::string::npos; at += 5) {
      in_text.insert(text.substr(at + 5, text.find_first_of(" \n", at + 5) - at - 5));
    }
    in_text.erase("version");
    EXPECT_EQ(listed, in_text) << words;
  }
  EXPECT_EQ(commands.count("bert_train eval"), 1U);
  EXPECT_EQ(commands.count("bert_train"), 1U);
}

TEST(HelpJson, SaysWhatAnOptionTakes) {
  const Json train = Json::parse(shown({"--help=json"}))["commands"][0];
  EXPECT_EQ(
      option_of(train, "batch"),
      Json::parse(R"({"name": "batch", "type": "integer", "topic": "training", "value": "N|auto",
                      "default": "32", "help":
                      "Samples per micro-batch and rank; auto: as many as its memory holds",
                      "positional": false, "required": false, "repeatable": false,
                      "least": 1, "most": 1000000,
                      "others": ["batch-size", "per-device-train-batch-size",
                                 "train-batch-size", "per-gpu-train-batch-size",
                                 "per-gpu-batch-size", "batch-size-one-gpu",
                                 "max-sentences"]})"));
  const Json precision = option_of(train, "precision");
  EXPECT_EQ(precision["type"], "choice");
  EXPECT_EQ(precision["choices"], Json::parse(R"(["fp32", "fp16", "bf16", "auto"])"));
  EXPECT_EQ(option_of(train, "weight-decay")["type"], "number");
  EXPECT_EQ(option_of(train, "lr")["type"], "list");
  EXPECT_EQ(option_of(train, "lr")["whole"], false);
  EXPECT_EQ(option_of(train, "accumulate")["whole"], true);
  EXPECT_FALSE(option_of(train, "steps").contains("most"));
  EXPECT_EQ(option_of(train, "dev")["type"], "path");
  EXPECT_EQ(option_of(train, "DATA")["required"], true);
  EXPECT_EQ(option_of(train, "also")["repeatable"], true);
  EXPECT_EQ(option_of(train, "stratify")["type"], "flag");
}

TEST(HelpJson, IsOfOneCommandOrOfAnotherTask) {
  const Json one = Json::parse(shown({"stop", "--help=json"}));
  ASSERT_EQ(one["commands"].size(), 1U);
  EXPECT_EQ(one["commands"][0]["command"], "bert_train stop");
  const Json pretrain = Json::parse(shown({"--task", "pretrain", "--help=json"}));
  EXPECT_FALSE(option_of(pretrain["commands"][0], "mask-share").is_null());
  EXPECT_TRUE(option_of(pretrain["commands"][0], "label").is_null());
}

// Returns what bash offers to complete the last of these words.
std::string completed(const std::string& words) {
  const Scratch folder;
  folder.write("completion", shown({"--completion", "bash"}));
  std::filesystem::create_directory(folder.path("folder"));
  const std::string command = concat(
      "cd ", folder.path(), " && bash -c 'source completion; COMP_WORDS=(", words,
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bert_train; echo \"${COMPREPLY[*]}\"' 2>&1");
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "bash did not start";
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  return ::pclose(pipe) == 0 ? text : "failed: " + text;
}

TEST(BashCompletion, KnowsCommandsOptionsAndValues) {
  EXPECT_EQ(completed("bert_train ev"), "eval\n");
  EXPECT_EQ(completed("bert_train x.csv --prec"), "--precision\n");
  EXPECT_EQ(completed("bert_train x.csv --precision bf"), "bf16\n");
  EXPECT_EQ(completed("bert_train x.csv --precision = bf"), "bf16\n");
  EXPECT_EQ(completed("bert_train x.csv --task pre"), "pretrain\n");
  EXPECT_EQ(completed("bert_train --task pretrain --mask-s"), "--mask-share\n")
      << "options of every task must be known";
  EXPECT_EQ(completed("bert_train stop fol"), "folder\n");
  EXPECT_EQ(completed("bert_train x.csv --run fo"), "folder\n");
  EXPECT_EQ(completed("bert_train x.csv --batch fo"), "\n") << "a number is not a file";
  EXPECT_EQ(completed("bert_train stop fol --ep"), "\n") << "options are those of the command";
  EXPECT_EQ(completed("bert_train eval run --on de"), "dev\n");
}

TEST(BashCompletion, IsForBashAlone) {
  EXPECT_THAT(shown({"--completion", "bash"}), HasSubstr("complete -o filenames -F _bert_train"));
  EXPECT_THAT(help_refusal({"--completion", "zsh"}),
              StartsWith("--completion: 'zsh' is none of bash"));
}

}  // namespace
}  // namespace bp::trainer
