// Reading the rows of a table of any format.
// docs/acceptance.md, Data: CSV and TSV give the same rows.
#include "trainer/input/row_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/classify_data.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::Pair;

class RowSourceTest : public testing::Test {
 protected:
  RowSource open(const std::string& name, const std::string& content) {
    const std::string path = scratch_.write(name, content);
    return open_source(path, inspect_table({.path = path, .fields = text_and_label()}));
  }
  static std::vector<std::pair<std::string, std::string>> all(RowSource rows) {
    std::vector<std::pair<std::string, std::string>> result;
    while (rows.next()) result.emplace_back(rows.fields()[0], rows.fields()[1]);
    return result;
  }
  Scratch scratch_;
};

// docs/features.md, Input: CSV with named columns, quotes and line breaks in fields | `--text`,
// `--label`
TEST_F(RowSourceTest, CsvAndTsvGiveTheSameRows) {
  const auto rows = ElementsAre(Pair("a, \"b\"", "1"), Pair("", "0"));
  EXPECT_THAT(all(open("a.csv", "id,label,text\n7,1,\"a, \"\"b\"\"\"\n8,0,\n")), rows);
  EXPECT_THAT(all(open("a.tsv", "label\ttext\n1\ta, \"b\"\n0\t\n")), rows);
  EXPECT_THAT(all(open("b.csv", "sep=|\ntext|label\n\"a, \"\"b\"\"\"|1\n|0\n")), rows);
}

TEST_F(RowSourceTest, CountsRowsWithoutTheHeaderAndNamesTheirPlace) {
  RowSource rows = open("a.csv", "text,label\n\n\"a\nb\",1\nc,2\nd\n");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.number(), 1);
  EXPECT_THAT(rows.place(), EndsWith("a.csv, row 1 (line 3)"));
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.number(), 2);
  EXPECT_THAT(rows.place(), EndsWith("a.csv, row 2 (line 5)"));
  expect_input_error(65, "row 3 (line 6): has 1 fields, the first line has 2", "must be in quotes",
                     [&] { rows.next(); });
}

// docs/features.md, Input: TSV without a header | `--format tsv --header no`, or found by looking
TEST_F(RowSourceTest, WithoutAHeaderTheFirstRecordIsARow) {
  const std::string path = scratch_.write("a.csv", "fine,5\nbad,1\n");
  const TableLayout layout = inspect_table({.path = path, .fields = text_and_label("1", "2")});
  EXPECT_THAT(all(open_source(path, layout)), ElementsAre(Pair("fine", "5"), Pair("bad", "1")));
}

}  // namespace
}  // namespace bp::trainer
