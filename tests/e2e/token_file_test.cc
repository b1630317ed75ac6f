// The SQLite files of bert_train_parallel through the programs that users run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

using test::Ended;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTrain = kBinDir + "/bert_train ";
const std::string kOptions = " --vocab vocab.txt --max-length 12 --batch 8 --steps 6 ";

// data.csv has 120 texts, of which old.sqlite is made; some of them are longer than a sample of
// old.sqlite. No text of short.csv is, and short.sqlite is made of it.
class TokenFileRuns : public test::FolderTest<> {
 protected:
  void SetUp() override {
    folder().write("vocab.txt",
                   "[PAD]\n[UNK]\n[CLS]\n[SEP]\nred\nblue\ngreen\nstone\n##s\nriver\nnot\ngood\n");
    write_rows("data.csv", 120, 17);
    write_rows("short.csv", 80, 5);
    make("old.sqlite", "data.csv 0=yes 1=no");
    make("short.sqlite", "short.csv 0=yes 1=no");
  }

  void write_rows(const std::string& name, int rows, int longest) const {
    constexpr const char* kWords[] = {"red", "blue", "green", "stones", "river"};
    std::string csv = "text,label\n";
    for (int row = 0; row < rows; ++row) {
      for (int word = 0; word <= row % longest; ++word) {
        csv += concat(kWords[(row * 3 + word * word + row * row / 7) % 5], " ");
      }
      csv += row % 3 == 0 ? "not good,no\n" : "good,yes\n";
    }
    folder().write(name, csv);
  }
  // `of`: a CSV file, and codes of labels.
  void make(const std::string& name, const std::string& of) const {
    const std::size_t end = std::min(of.find(' '), of.size());
    (void)output_of(concat("python3 " + kSourceDir + "/tests/e2e/make_token_file.py ",
                           of.substr(0, end), " vocab.txt ", name, " 12", of.substr(end)));
  }
  void sql(const std::string& file, const std::string& statements) const {
    folder().write("change.py", concat("import sqlite3\nsqlite3.connect(\"", file,
                                       "\").executescript(\"\"\"", statements, "\"\"\")\n"));
    (void)output_of("python3 change.py; rm change.py");
  }
  std::string bert_train(const std::string& arguments) const {
    return output_of(kTrain + arguments);
  }
  void expect_refused(const std::string& arguments, int code, const std::string& text) const {
    const std::vector<std::string> before = folder().names();
    const Ended ended = in_folder(kTrain + arguments);
    EXPECT_EQ(ended.code, code) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(concat("bert_train: ", text)));
    EXPECT_THAT(ended.output, HasSubstr("\nhint: "));
    EXPECT_EQ(folder().names(), before) << arguments;
  }
};

// docs/acceptance.md, Data: All commands read the SQLite files of bert_train_parallel and leave
// them as they are.
// docs/features.md, Input: The SQLite files of bert_train_parallel | read as data by every command
TEST_F(TokenFileRuns, AllCommandsReadTheFileAndLeaveItAsItIs) {
  const std::string bytes = read_file(path("old.sqlite"));
  std::vector<std::string> names = folder().names();
  EXPECT_THAT(bert_train("check old.sqlite" + kOptions.substr(0, kOptions.find("--batch"))),
              HasSubstr("\nlabels                  2\n  yes "));
  EXPECT_EQ(folder().names(), names);

  const std::string trained = bert_train("old.sqlite --run r" + kOptions);
  EXPECT_THAT(trained, HasSubstr("\nits tables TrainQueue, ValidateQueue and TestQueue divide "
                                 "old.sqlite; --split divides it anew\n"));
  EXPECT_THAT(trained, HasSubstr("rows in old.store.sqlite\n"));
  (void)bert_train("old.sqlite --run r --steps 8 --vocab vocab.txt --max-length 12 --batch 8");
  EXPECT_THAT(bert_train("prep old.sqlite" + kOptions.substr(0, kOptions.find("--batch"))),
              HasSubstr("using the store old.store.sqlite, which matches"));
  (void)bert_train("eval r old.sqlite --out e.csv");
  EXPECT_EQ(bert_train("predict r old.sqlite"), read_file(path("e.csv")));

  for (const char* made : {"e.csv", "old.store.sqlite", "old.store.sqlite.runs", "r"}) {
    names.emplace_back(made);
  }
  std::ranges::sort(names);
  EXPECT_EQ(folder().names(), names);
  EXPECT_EQ(read_file(path("old.sqlite")), bytes);
}

// docs/acceptance.md, Data: A run on an SQLite file of bert_train_parallel equals a run on its CSV
// file.
TEST_F(TokenFileRuns, EqualsTheFileOfTexts) {
  const std::string options = kOptions + "--split 0.8,0.1,0.1 --seed 3 ";
  const std::string ours = bert_train("short.csv --store csv.sqlite --run csv" + options);
  const std::string theirs = bert_train("short.sqlite --run old" + options);
  EXPECT_THAT(theirs, Not(HasSubstr("TrainQueue")));
  for (const char* file : {"model/model.safetensors", "model/config.json", "predictions.csv"}) {
    EXPECT_EQ(read_file(path(concat("old/", file))), read_file(path(concat("csv/", file)))) << file;
  }
  EXPECT_NE(read_file(path("old/predictions.csv")), "");
  (void)bert_train("eval csv short.csv --out csv.csv");
  (void)bert_train("eval csv short.sqlite --out old.csv");
  EXPECT_EQ(read_file(path("old.csv")), read_file(path("csv.csv")));
}

// The same with a byte-level tokenizer, of which the file has <s> ... </s> and <pad>.
TEST_F(TokenFileRuns, MayHaveTheTokensOfAByteLevelTokenizer) {
  const std::string roberta = kSourceDir + "/tests/golden/tokenizers/roberta.json";
  Tokenizer tokenizer(Vocabulary::read(roberta));
  std::string csv = "text,label\n";
  std::string rows;
  constexpr const char* kTexts[] = {"small letters", "capital letters with signs", "latin"};
  for (int row = 0; row < 60; ++row) {
    const std::string text = kTexts[row % 3] + concat(" ", row % 5);
    std::vector<std::int32_t> ids = {tokenizer.form().cls};
    tokenizer.encode(text, ids);
    ids.insert(ids.end(), {tokenizer.form().sep, tokenizer.form().pad});
    std::string list;
    for (const std::int32_t id : ids) list += concat(list.empty() ? "" : ", ", id);
    csv += concat(text, row % 3 == 0 ? ",no\n" : ",yes\n");
    rows += concat("INSERT INTO Samples VALUES (", row, ", \"[", list, "]\", \"[1]\", ",
                   row % 3 == 0 ? 1 : 0, ");");
  }
  folder().write("bytes.csv", csv);
  (void)output_of("cp short.sqlite bytes.sqlite");
  folder().write("rows.sql", concat("DELETE FROM Samples; DELETE FROM TrainQueue; DELETE FROM "
                                    "ValidateQueue; DELETE FROM TestQueue;",
                                    rows));
  folder().write("fill.py",
                 "import sqlite3\nsqlite3.connect(\"bytes.sqlite\").executescript(open("
                 "\"rows.sql\").read().replace(chr(34), chr(39)))\n");
  (void)output_of("python3 fill.py");
  const std::string options = concat(" --vocab ", roberta,
                                     " --max-length 24 --batch 8 --steps 6 --split 0.8,0.1,0.1 "
                                     "--seed 3 ");
  (void)bert_train("bytes.csv --store texts.sqlite --run texts" + options);
  (void)bert_train("bytes.sqlite --run ids" + options);
  for (const char* file : {"model/model.safetensors", "predictions.csv"}) {
    EXPECT_EQ(read_file(path(concat("ids/", file))), read_file(path(concat("texts/", file))));
  }
  EXPECT_NE(read_file(path("ids/predictions.csv")), "");
}

TEST_F(TokenFileRuns, TheQueuesAreTheSplitOfTheRunAndOfItsEvaluations) {
  sql("short.sqlite",
      "DELETE FROM TrainQueue; DELETE FROM ValidateQueue; DELETE FROM TestQueue; INSERT INTO "
      "TestQueue VALUES (3), (70); INSERT INTO ValidateQueue VALUES (2); INSERT INTO TrainQueue "
      "SELECT sample_id FROM Samples WHERE sample_id NOT IN (2, 3, 70);");
  const std::string trained = output_of(
      concat(kBinDir + "/bprun -n 2 ", kTrain, "short.sqlite --run r --seed 5", kOptions));
  EXPECT_THAT(trained, HasSubstr(") on 77 samples, 2 ranks"));
  const std::string predictions = read_file(path("r/predictions.csv"));
  EXPECT_THAT(predictions, HasSubstr("\n4,4,no,")) << "sample_id 3 is the fourth sample";
  EXPECT_THAT(predictions, HasSubstr("\n71,71,yes,"));
  EXPECT_EQ(std::ranges::count(predictions, '\n'), 3);
  (void)output_of("rm short.store.sqlite");
  (void)bert_train("eval r --out e.csv");
  EXPECT_EQ(read_file(path("e.csv")), predictions);
  EXPECT_THAT(bert_train("short.sqlite --run n --split 0.5,0.25,0.25 --store n.sqlite" + kOptions),
              HasSubstr(") on 40 samples, 1 rank"));
}

TEST_F(TokenFileRuns, ServesAsATestFileOfTexts) {
  const std::string trained = bert_train("data.csv --test short.sqlite --run r" + kOptions);
  EXPECT_THAT(trained, HasSubstr(", 80 samples\n"));
}

TEST_F(TokenFileRuns, WhatIsWrongIsOneLine) {
  expect_refused("prep old.sqlite", 2, "the vocabulary for old.sqlite is missing\n");
  expect_refused("prep old.sqlite --text2 other --vocab vocab.txt", 2,
                 "--text2 needs two texts a row, and old.sqlite has samples of one\n");
  expect_refused("prep old.sqlite --vocab vocab.txt --max-length 11", 65,
                 "old.sqlite, sample_id 6: has 12 tokens, more than --max-length 11\n");
  expect_refused("prep old.sqlite --vocab vocab.txt --split data --dev short.sqlite", 2,
                 "--split data divides the rows of one file as it says, but --dev or --test");
  expect_refused("prep data.csv --vocab vocab.txt --split data", 2,
                 "data.csv does not say how its rows are divided\n");
  folder().write("other.txt",
                 "[PAD]\n[UNK]\n[SEP]\n[CLS]\nred\nblue\ngreen\nstone\n##s\nriver\nno");
  expect_refused("prep old.sqlite --vocab other.txt", 65,
                 "old.sqlite, sample_id 0: has the token id 11, but other.txt has 11 tokens\n");
  expect_refused("prep data.csv --vocab vocab.txt --store old.sqlite --rebuild", 65,
                 "old.sqlite is an SQLite file, but not a store of bert_train\n");
  expect_refused("prep old.sqlite --vocab vocab.txt --store old.sqlite", 2,
                 "the store old.sqlite would replace its source\n");
  folder().write("old.sqlite-journal", "7");
  expect_refused("prep old.sqlite --vocab vocab.txt", 65, "old.sqlite is half-written: ");
  output_of("rm old.sqlite-journal");

  sql("old.sqlite", "DELETE FROM LabelEncodings WHERE val_col = 'no'");
  const std::string unnamed = "old.sqlite, sample_id 0: the table LabelEncodings has no label 1\n";
  expect_refused("prep old.sqlite --vocab vocab.txt", 65, unnamed);
  EXPECT_THAT(
      bert_train("prep old.sqlite --vocab vocab.txt --unknown-labels skip"),
      HasSubstr("other labels than those in old.sqlite, the first: old.sqlite, sample_id 0, "
                "label '1'\n"));
  const Ended checked = in_folder(kTrain + "check old.sqlite --vocab vocab.txt");
  EXPECT_EQ(checked.code, 65);
  EXPECT_THAT(checked.output, HasSubstr(" rows with a label that the table LabelEncodings lacks, "
                                        "the first: old.sqlite, sample_id 0\nhint: "));
  sql("old.sqlite", "UPDATE Samples SET tok_ids = '[2, x]' WHERE sample_id = 7");
  expect_refused(
      "check old.sqlite --vocab vocab.txt", 65,
      "old.sqlite, table Samples, sample_id 7: tok_ids has 'x' where a number should be, "
      "at character 5\n");
  sql("old.sqlite", "DELETE FROM Samples");
  expect_refused("prep old.sqlite --vocab vocab.txt --store n.sqlite", 65,
                 "old.sqlite, table Samples: has no rows\n");
}

}  // namespace
}  // namespace bp::trainer
