// Each option of each command of bert_train is run once, and its effect is looked at. A new option
// without a row fails the last test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/option_rows.h"
#include "tests/e2e/shell_folder.h"
#include "tests/e2e/task_data.h"
#include "tests/support/places.h"

namespace bp::trainer::test {
namespace {

namespace fs = std::filesystem;
using bp::test::Ended;
using bp::test::read;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class OptionEffects : public bp::test::FolderSuite<OptionEffects> {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    write_tables();
    write_texts();
    fs::create_directory(path("shape"));
    std::ofstream(path("shape/config.json"))
        << R"({"model_type": "bert", "vocab_size": 100, "hidden_size": 16, "num_hidden_layers": 2,
               "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64})";
    (void)output_of(bert_train(kBase));
    (void)output_of(
        bert_train("data.csv --model base/model --max-length 16 --steps 2 --lora 2 "
                   "--store lora.sqlite --run adapted"));
    (void)output_of(
        bert_train("shards runs.txt --vocab words.txt --out shards --max-length 16 --rows 2000"));
  }

  static void write_tables() {
    constexpr const char* kWords[] = {"red", "blue", "green", "stone", "river", "cloud"};
    std::ofstream data(path("data.csv"));
    std::ofstream several(path("several.csv"));
    std::ofstream numbers(path("numbers.csv"));
    data << "text,label\n";
    several << "text,label\n";
    numbers << "text,n,label\n";
    for (int row = 0; row < 60; ++row) {
      std::string text;
      for (int word = 0; word < 3 + row % 9; ++word)
        text += concat(kWords[(row + word * word) % 6], ' ');
      data << text << row << (row % 3 == 0 ? ",yes\n" : ",no\n");
      several << text << (row % 2 == 0 ? ",warm;old\n" : ",old\n");
      numbers << text << ',' << row % 3 << ".2,a\n";
    }
    data.close();
    fs::copy(path("data.csv"), path("again.csv"));
    std::ofstream pronouns(path("pronouns.tsv"));
    bp::test::write_pronouns(pronouns);
    std::ofstream(path("named.csv")) << "review,stars,second\nred,yes,blue river\nblue,no,red\n"
                                        "green,yes,red\nred,no,blue\n";
    std::ofstream(path("map.csv")) << "yes,good\nno,bad\n";
    std::ofstream(path("blanks.csv")) << "text,label\nred, yes\nblue,no\ngreen,yes\n";
    std::ofstream(path("plain.txt")) << "red\tyes\nblue\tno\n";
    std::ofstream(path("bar.csv")) << "text|label\nred|yes\nblue|no\n";
    std::ofstream(path("spark.csv")) << "text,label\n\"a \\\"red\\\", stone\",yes\nblue,no\n";
    std::ofstream(path("latin.csv")) << "text,label\ncaf\xE9,yes\nblue,no\n";
    std::ofstream(path("words.csv")) << "sentence,marks\nanna went,B-PER O\nhe went,O O\n";
    std::ofstream(path("words.conll")) << "B-PER anna\nO went\n\nO he\n";
    std::ofstream(path("broken.txt")) << "red\n\xE9\nblue\n";
    std::ofstream(path("limit.yaml")) << "data: data.csv\nlimit: 30\n";
  }
  static void write_texts() {
    std::ofstream documents(path("runs.txt"));
    bp::test::write_documents(documents);
    std::ofstream two(path("two.txt"));  // sentences in a line
    for (int document = 0; document < 20; ++document) {
      for (const char* word : {"One", "Five"}) two << word << " two three. Six " << word << ".\n";
      two << '\n';
    }
    const char* const kSpecial = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    std::ofstream(path("vocab.txt")) << kSpecial << "zebra\n";
    std::ofstream(path("words.txt"))
        << kSpecial << ".\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
  }

  static std::string bert_train(const std::string& arguments) {
    return "OMP_NUM_THREADS=1 " + kBinDir + "/bert_train " + arguments;
  }

  static std::string contents(const std::string& name) { return read(path(name)); }

  // How many bytes of the two files differ, at most.
  static std::size_t difference(const std::string& a, const std::string& b) {
    const std::string one = contents(a);
    const std::string other = contents(b);
    std::size_t count = std::max(one.size(), other.size()) - std::min(one.size(), other.size());
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
      count += one[i] == other[i] ? 0 : 1;
    }
    return count;
  }

  static void expect_files(const OptionRow& row) {
    constexpr std::size_t kTimes = 100;  // bytes of an HDF5 file that say when it was made
    if (row.weights != Weights::any) {
      EXPECT_TRUE(fs::exists(path(kWeights)));
      const bool same = contents(kWeights) == contents("base/model/model.safetensors");
      EXPECT_EQ(same, row.weights == Weights::same) << "the weights";
    }
    if (!row.absent.empty()) {
      EXPECT_FALSE(fs::exists(path(row.absent))) << row.absent;
    }
    if (row.file.empty()) return;
    EXPECT_TRUE(fs::exists(path(row.file))) << row.file;
    for (const std::string& text : row.holds) {
      EXPECT_NE(contents(row.file).find(text), std::string::npos) << row.file << " lacks " << text;
    }
    if (!row.like.empty()) {
      EXPECT_LE(difference(row.file, row.like), kTimes);
    }
    if (!row.unlike.empty()) {
      EXPECT_GT(difference(row.file, row.unlike), kTimes);
    }
  }

  static void run(const std::vector<OptionRow>& rows) {
    for (const OptionRow& row : rows) {
      SCOPED_TRACE(row.covers);
      const Ended ended =
          in_folder(row.before.empty() ? bert_train(row.arguments)
                                       : concat("OMP_NUM_THREADS=1 ", kBinDir, "/", row.before,
                                                "bert_train ", row.arguments));
      EXPECT_EQ(ended.code, row.code) << ended.output;
      EXPECT_THAT(ended.output, HasSubstr(row.says));
      expect_files(row);
      fs::remove_all(path("t"));
      fs::remove_all(path("made"));
    }
  }

  static constexpr const char* kWeights = "t/model/model.safetensors";
};

TEST_F(OptionEffects, OfFilesAndStores) { run(data_rows()); }
TEST_F(OptionEffects, OfModels) { run(model_rows()); }
// docs/features.md, Splits and batches: A micro-batch as large as each rank's memory holds |
// `--batch auto`, `--total-batch`
TEST_F(OptionEffects, OfSteps) { run(step_rows()); }
TEST_F(OptionEffects, OfLosses) { run(loss_rows()); }
TEST_F(OptionEffects, OfEvaluations) { run(evaluation_rows()); }
TEST_F(OptionEffects, OfCheckpointsAndOutput) { run(output_rows()); }
TEST_F(OptionEffects, OfTasks) { run(task_rows()); }
TEST_F(OptionEffects, OfShards) { run(shard_rows()); }
TEST_F(OptionEffects, OfOtherCommands) { run(command_rows()); }

std::set<std::string> covered() {
  std::set<std::string> names;
  for (const auto& rows : {data_rows(), model_rows(), step_rows(), loss_rows(), evaluation_rows(),
                           output_rows(), task_rows(), shard_rows(), command_rows()}) {
    for (const OptionRow& row : rows) {
      std::istringstream words(row.covers);
      for (std::string name; words >> name;) names.insert(name);
    }
  }
  return names;
}

// An option that means something else in each command that has it needs a row for each, "eval/out".
// The others are the same options wherever they occur.
TEST_F(OptionEffects, EachOptionHasARow) {
  const std::set<std::string> of_each_command = {
      "out", "on", "checkpoint", "out-format", "parameter-table", "measured-steps"};
  const std::set<std::string> rows = covered();
  std::set<std::string> missing;
  int options = 0;
  for (const char* task : {"classify", "regress", "tokens", "gap", "pretrain"}) {
    const Json help = Json::parse(output_of(bert_train(concat("--help=json --task ", task))));
    for (const Json& command : help.at("commands")) {
      std::string name = command.at("command");
      name = name == "bert_train" ? "train" : name.substr(name.find(' ') + 1);
      for (const Json& option : command.at("options")) {
        if (option.value("positional", false)) continue;
        ++options;
        const std::string own = option.at("name");
        const bool has_row = rows.contains(concat(name, "/", own)) ||
                             (rows.contains(own) && !of_each_command.contains(own));
        if (!has_row) missing.insert(concat(name, "/", own));
      }
    }
  }
  EXPECT_GT(options, 500);
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

}  // namespace
}  // namespace bp::trainer::test
