#include "trainer/data/table.h"

#include <gtest/gtest.h>

#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {
namespace {

class TableTest : public testing::Test {
 protected:
  TableQuestion ask(const std::string& name,
                    std::string_view content,
                    const std::string& text = "1",
                    const std::string& label = "2") {
    return {.path = scratch_.write(name, content), .text_column = text, .label_column = label};
  }
  Scratch scratch_;
};

TEST_F(TableTest, FindsTheFormatBySuffixThenByLooking) {
  EXPECT_EQ(inspect_table(ask("a.csv", "x\ty,1\n")).format, TextFormat::csv);
  EXPECT_EQ(inspect_table(ask("a.TSV", "x,y\t1\n")).format, TextFormat::tsv);
  EXPECT_EQ(inspect_table(ask("sentiment-train", "so, so\t1\n")).format, TextFormat::tsv);
  EXPECT_EQ(inspect_table(ask("words", "good,1\n")).format, TextFormat::csv);
  TableQuestion forced = ask("b.csv", "x,y\t1\n");
  forced.format = TextFormat::tsv;
  EXPECT_EQ(inspect_table(forced).format, TextFormat::tsv);
}

TEST_F(TableTest, FindsColumnsByNameOrNumber) {
  const std::string_view content = "id,review,stars\n1,fine,5\n2,bad,1\n";
  const TableLayout by_name = inspect_table(ask("a.csv", content, "review", "stars"));
  EXPECT_TRUE(by_name.header);
  EXPECT_EQ(by_name.text, 1U);
  EXPECT_EQ(by_name.label, 2U);
  const TableLayout mixed = inspect_table(ask("a.csv", content, "2", "stars"));
  EXPECT_TRUE(mixed.header);
  EXPECT_EQ(mixed.text, 1U);
}

TEST_F(TableTest, LooksForAHeaderWhenColumnsAreNumbers) {
  EXPECT_TRUE(inspect_table(ask("a.csv", "review,stars\nfine,5\nbad,1\n")).header);
  EXPECT_TRUE(inspect_table(ask("a.csv", "review,label\nfine,good\nbad,bad\n")).header);
  EXPECT_FALSE(inspect_table(ask("a.csv", "fine,5\nbad,1\n")).header) << "a number";
  EXPECT_FALSE(inspect_table(ask("a.csv", "nice,good\nworse,bad\nfine,good\n")).header)
      << "label comes again";
  EXPECT_FALSE(inspect_table(ask("a.csv", "review,\nfine,good\n")).header) << "an empty cell";
  EXPECT_FALSE(inspect_table(ask("a.csv", std::string(80, 'x') + ",y\nfine,good\n")).header)
      << "a text";
  EXPECT_FALSE(inspect_table(ask("a.csv", "review,label\n")).header) << "nothing follows";
  TableQuestion no = ask("a.csv", "review,stars\nfine,5\n");
  no.header = HeaderMode::no;
  EXPECT_FALSE(inspect_table(no).header);
}

TEST_F(TableTest, AMissingColumnIsNamedWithThoseThatAreThere) {
  const auto inspect = [&](const TableQuestion& question) {
    return [=] { (void)inspect_table(question); };
  };
  const std::string_view content = "id,review,stars\n1,fine,5\n";
  expect_input_error(2, "a.csv has no column 'reveiw': it has id, review, stars",
                     "did you mean 'review'?", inspect(ask("a.csv", content, "reveiw", "stars")));
  expect_input_error(2, "has no column 'zzzzzz'", "--text and --label",
                     inspect(ask("a.csv", content, "zzzzzz", "stars")));
  expect_input_error(2, "has no column 4: it has 3", "from 1",
                     inspect(ask("a.csv", content, "2", "4")));
  expect_input_error(2, "has no column 0", "from 1", inspect(ask("a.csv", content, "0", "1")));
  expect_input_error(2, "has no column 2: it has 1", "--format",
                     inspect(ask("a.csv", "a;b\nc;d\n")));
  expect_input_error(2, "both column 2", "--text and --label",
                     inspect(ask("a.csv", content, "review", "2")));
  TableQuestion no = ask("a.csv", content, "review", "stars");
  no.header = HeaderMode::no;
  expect_input_error(2, "column 'review' of", "--header yes", inspect(no));
}

TEST_F(TableTest, AnEmptyFileIsAnError) {
  expect_input_error(65, "a.csv is empty", "a text and a label",
                     [&] { (void)inspect_table(ask("a.csv", "\n")); });
}

TEST(Numbers, AreReadWholeAndWrittenWithCommas) {
  EXPECT_EQ(number_of("-2.5"), -2.5);
  EXPECT_EQ(number_of("1e3"), 1000);
  EXPECT_FALSE(number_of("5 stars"));
  EXPECT_FALSE(number_of(""));
  EXPECT_FALSE(number_of("nan"));
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(-100), "-100");
  EXPECT_EQ(with_commas(-1000), "-1,000");
  EXPECT_EQ(with_commas(67349), "67,349");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
}

}  // namespace
}  // namespace bp::trainer
