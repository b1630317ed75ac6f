// Files of bert_train_parallel.
// docs/acceptance.md, Data: All commands read the SQLite files of bert_train_parallel and leave
// them as they are.
#include "trainer/tasks/classify/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/support/token_database.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/tasks/classify/token_samples.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kRows =
    "INSERT INTO Samples VALUES (0, '[2, 4, 5, 3, 0, 0]', '[1, 1, 1, 0, 0, 0]', 1);"
    "INSERT INTO Samples VALUES (1, '[2, 6, 3]', 'anything', 0);"
    "INSERT INTO Samples VALUES (7, '[2, 3, 0]', NULL, 5);";
const std::string kLabels =
    "INSERT INTO LabelEncodings VALUES ('0', 'bad'); INSERT INTO LabelEncodings VALUES ('1', "
    "'good');";
const std::string kTables = concat(kSamplesTable, kLabelsTable);

class TokenFile : public testing::Test {
 protected:
  std::string make(const std::string& statements) {
    std::filesystem::remove(path_);
    return make_token_file(path_, statements);
  }
  // Reads all samples, as "0: 2 4 5 3 (1, good)".
  [[nodiscard]] std::vector<std::string> samples() const {
    std::vector<std::string> texts;
    for (TokenSamples samples(path_); samples.next();) {
      std::string text = concat(samples.sample_id(), ":");
      for (const std::int32_t id : samples.ids()) text += concat(" ", id);
      texts.push_back(concat(text, " (", samples.code(), ", ", samples.label(), ")"));
    }
    return texts;
  }
  [[nodiscard]] std::string refusal() const {
    std::string text = test::input_refusal([&] { (void)samples(); });
    EXPECT_THAT(text, HasSubstr(" | "));
    text = text.substr(0, text.find(" | "));
    const std::size_t name = text.find(path_);
    return name == std::string::npos ? text : text.replace(name, path_.size(), "F");
  }
  [[nodiscard]] std::string remark() const {
    std::string text = split_of_token_file(path_).remark;
    const std::size_t name = text.find(path_);
    return name == std::string::npos ? text : text.replace(name, path_.size(), "F");
  }

  Scratch scratch_;
  std::string path_ = scratch_.path("odd %41 name?#.db");
};

TEST_F(TokenFile, IsRecognizedByItsTables) {
  for (const std::string& statements : {kTables, std::string(kSamplesTable),
                                        std::string(kLabelsTable), std::string(kQueueTables)}) {
    EXPECT_TRUE(is_token_file(make(statements))) << statements;
  }
  EXPECT_FALSE(is_token_file(make("CREATE TABLE Samples (a int); CREATE TABLE labels (b int);")));
  EXPECT_FALSE(is_token_file(make("CREATE VIEW LabelEncodings AS SELECT 1;")));
  EXPECT_FALSE(is_token_file(make(concat(kTables, "PRAGMA application_id=0x62706473;"))));
  EXPECT_FALSE(is_token_file(scratch_.write("a.sqlite", "")));
  EXPECT_FALSE(is_token_file(scratch_.write("b.sqlite", "SQLite format 3")));
  EXPECT_FALSE(is_token_file(scratch_.write("c.sqlite", std::string("SQLite format 3\0abc", 19))));
  EXPECT_FALSE(is_token_file(scratch_.path("none.sqlite")));
  EXPECT_FALSE(is_token_file(scratch_.path()));
}

TEST_F(TokenFile, SamplesLoseTheirPaddingAndGetTheirLabels) {
  make(concat(kTables, kRows, kLabels));
  EXPECT_THAT(samples(), ElementsAre("0: 2 4 5 3 (1, good)", "1: 2 6 3 (0, bad)", "7: 2 3 (5, )"));
}

TEST_F(TokenFile, IsNeverChanged) {
  make(concat(kTables, kRows, kLabels, kQueueTables));
  const std::string bytes = read_file(path_);
  const auto stamp = std::filesystem::last_write_time(path_);
  (void)samples();
  (void)split_of_token_file(path_);
  EXPECT_EQ(read_file(path_), bytes);
  EXPECT_EQ(std::filesystem::last_write_time(path_), stamp);
  EXPECT_THAT(scratch_.names(), ElementsAre("odd %41 name?#.db"));
}

TEST_F(TokenFile, ASampleThatIsWrongIsRefusedWithItsId) {
  const auto refusal_of = [&](const std::string& values) {
    make(concat(kTables, kLabels, "INSERT INTO Samples VALUES (", values, ");"));
    return refusal();
  };
  EXPECT_EQ(refusal_of("7, '[101, x]', '', 0"),
            "65: F, table Samples, sample_id 7: tok_ids has 'x' where a number should be, at "
            "character 7");
  EXPECT_EQ(refusal_of("7, '[101', '', 0"),
            "65: F, table Samples, sample_id 7: tok_ids ends where , or ] should be, at character "
            "5");
  EXPECT_EQ(refusal_of("7, NULL, '', 0"),
            "65: F, table Samples, sample_id 7: tok_ids is NULL, not a list");
  EXPECT_EQ(refusal_of("7, x'5B315D', '', 0"),
            "65: F, table Samples, sample_id 7: tok_ids is a blob, not a list");
  EXPECT_EQ(refusal_of("7, '[1]', '', 'good'"),
            "65: F, table Samples, sample_id 7: label is text, not an integer");
  EXPECT_EQ(refusal_of("7, '[1]', '', 0.5"),
            "65: F, table Samples, sample_id 7: label is a real number, not an integer");
  EXPECT_EQ(refusal_of("NULL, '[1]', '', 0"),
            "65: F, table Samples, row 1: sample_id is NULL, not an integer");
  EXPECT_EQ(refusal_of("'a', '[1]', '', 0"),
            "65: F, table Samples, row 1: sample_id is text, not an integer");
}

TEST_F(TokenFile, WithoutSamplesIsRefused) {
  make(concat(kTables, kLabels));
  EXPECT_EQ(refusal(), "65: F, table Samples: has no rows");
}

TEST_F(TokenFile, IdsThatComeTwiceAreRefused) {
  make(concat("CREATE TABLE Samples (sample_id, tok_ids, label);", kLabelsTable,
              "INSERT INTO Samples VALUES (1, '[1]', 0), (1, '[1]', 0)"));
  EXPECT_EQ(refusal(), "65: F, table Samples, sample_id 1: comes twice, or out of order");
}

TEST_F(TokenFile, ATableThatIsMissingOrWrongIsNamed) {
  make(concat(kSamplesTable, kRows));
  EXPECT_EQ(refusal(), "65: F has no table LabelEncodings");
  make(kLabelsTable);
  EXPECT_EQ(refusal(), "65: F has no table Samples");
  make(concat("CREATE VIEW Samples AS SELECT 1 AS tok_ids;", kLabelsTable));
  EXPECT_EQ(refusal(), "65: F has no table Samples");
  make(concat("CREATE TABLE Samples (sample_id, label);", kLabelsTable));
  EXPECT_EQ(refusal(), "65: F, table Samples: no such column: tok_ids");
  const auto labels = [&](const std::string& values) {
    make(concat(kTables, "INSERT INTO LabelEncodings VALUES ", values));
    return refusal();
  };
  EXPECT_EQ(labels("('0', 'a'), ('x', 'b')"),
            "65: F, table LabelEncodings, row 2: key_col is not a whole number");
  EXPECT_EQ(labels("(NULL, 'a')"),
            "65: F, table LabelEncodings, row 1: key_col is not a whole number");
  EXPECT_EQ(labels("('0', 'a'), (0, 'b')"),
            "65: F, table LabelEncodings, row 2: key_col comes twice");
  EXPECT_EQ(labels("('0', NULL)"), "65: F, table LabelEncodings, row 1: val_col is empty");
  EXPECT_EQ(labels("('0', CAST(x'FF' AS TEXT))"),
            "65: F, table LabelEncodings, row 1: val_col is not UTF-8");
}

TEST_F(TokenFile, ThatIsNotCompleteIsRefused) {
  make(concat(kTables, kRows));
  scratch_.write("odd %41 name?#.db-journal", "");
  EXPECT_THAT(samples(), testing::SizeIs(3));
  scratch_.write("odd %41 name?#.db-journal", std::string(512, '\0'));
  EXPECT_THAT(samples(), testing::SizeIs(3));
  scratch_.write("odd %41 name?#.db-journal", "\xD9\xD5");
  EXPECT_THAT(refusal(), HasSubstr("65: F is half-written: "));
  std::filesystem::remove(path_ + "-journal");
  scratch_.write("odd %41 name?#.db-wal", "7");
  EXPECT_THAT(refusal(), HasSubstr("65: F is half-written: "));
  EXPECT_THAT(test::input_refusal([&] { (void)split_of_token_file(path_); }),
              HasSubstr(" is half-written: "));
}

TEST_F(TokenFile, ThatIsDamagedIsRefused) {
  make(concat(kTables, kRows, kLabels));
  std::string bytes = read_file(path_);
  bytes.resize(bytes.size() / 2);
  scratch_.write("odd %41 name?#.db", bytes);
  EXPECT_THAT(refusal(), HasSubstr("65: F, table "));
}

TEST_F(TokenFile, ThatDisappearsIsRefused) {
  EXPECT_EQ(refusal(), "65: F: unable to open database file");
}

TEST_F(TokenFile, TheQueuesAreItsSplit) {
  make(
      concat(kTables, kRows, kQueueTables,
             "INSERT INTO TrainQueue VALUES (7); INSERT INTO ValidateQueue VALUES (0); INSERT INTO "
             "TestQueue VALUES (1);"));
  EXPECT_THAT(split_of_token_file(path_).of_rows,
              ElementsAre(Split::dev, Split::test, Split::train));
  EXPECT_EQ(remark(),
            "its tables TrainQueue, ValidateQueue and TestQueue divide F; --split divides it anew");
}

TEST_F(TokenFile, QueuesThatAreIncompleteAreNotTaken) {
  const auto remark_on = [&](const std::string& statements) {
    make(concat(kTables, kRows, kQueueTables, statements));
    EXPECT_THAT(split_of_token_file(path_).of_rows, IsEmpty());
    return remark();
  };
  const std::string begin = "the split of F is not taken, because ";
  EXPECT_EQ(remark_on("INSERT INTO TrainQueue VALUES (0), (1);"),
            begin + "sample_id 7 is in no queue");
  EXPECT_EQ(remark_on("INSERT INTO TrainQueue VALUES (0), (1), (7), (0);"),
            begin + "sample_id 0 of TrainQueue is in the queues twice");
  EXPECT_EQ(remark_on("INSERT INTO TrainQueue VALUES (0), (1), (7); INSERT INTO TestQueue VALUES "
                      "(1);"),
            begin + "sample_id 1 of TestQueue is in the queues twice");
  EXPECT_EQ(remark_on("INSERT INTO TestQueue VALUES (0), (2);"),
            begin + "TestQueue has sample_id 2, which Samples lacks");
  EXPECT_EQ(remark_on("INSERT INTO TrainQueue VALUES (NULL);"),
            begin + "a sample_id of TrainQueue is not an integer");
  EXPECT_EQ(remark_on("INSERT INTO TrainQueue VALUES (0), (1), (7); DROP TABLE TestQueue"),
            begin + "it has no table TestQueue");
  make(concat(kTables, kRows));
  EXPECT_EQ(remark(), "");
}

}  // namespace
}  // namespace bp::trainer
