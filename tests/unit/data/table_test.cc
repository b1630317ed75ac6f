// docs/acceptance.md, Data: Separators are found or named, `sep=` lines are read, and a file that
// is not a table is refused with its kind.
#include "trainer/input/table.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/common/numbers.h"
#include "trainer/input/separator.h"

namespace bp::trainer {
namespace {

class TableTest : public testing::Test {
 protected:
  TableQuestion ask(const std::string& name,
                    std::string_view content,
                    const std::string& text = "1",
                    const std::string& label = "2") {
    return {.path = scratch_.write(name, content), .fields = text_and_label(text, label)};
  }
  Scratch scratch_;
};

TEST_F(TableTest, FindsTheFormatBySuffixThenByContent) {
  EXPECT_EQ(inspect_table(ask("a.csv", "x\ty,1\n")).format.text, TextFormat::csv);
  EXPECT_EQ(inspect_table(ask("a.TSV", "x,y\t1\n")).format.text, TextFormat::tsv);
  EXPECT_EQ(inspect_table(ask("sentiment-train", "so, so\t1\n")).format.text, TextFormat::tsv);
  EXPECT_EQ(inspect_table(ask("words", "good,1\n")).format.text, TextFormat::csv);
  TableQuestion forced = ask("b.csv", "x,y\t1\n");
  forced.format = TextFormat::tsv;
  EXPECT_EQ(inspect_table(forced).format.text, TextFormat::tsv);
}

TEST_F(TableTest, FindsColumnsByNameOrNumber) {
  const std::string_view content = "id,review,stars\n1,fine,5\n2,bad,1\n";
  const TableLayout by_name = inspect_table(ask("a.csv", content, "review", "stars"));
  EXPECT_TRUE(by_name.header);
  EXPECT_EQ(by_name.columns[0], 1U);
  EXPECT_EQ(by_name.columns[1], 2U);
  const TableLayout mixed = inspect_table(ask("a.csv", content, "2", "stars"));
  EXPECT_TRUE(mixed.header);
  EXPECT_EQ(mixed.columns[0], 1U);
}

TEST_F(TableTest, DetectsAHeaderIfColumnsAreNumbers) {
  EXPECT_TRUE(inspect_table(ask("a.csv", "review,stars\nfine,5\nbad,1\n")).header);
  EXPECT_TRUE(inspect_table(ask("a.csv", "review,label\nfine,good\nbad,bad\n")).header);
  EXPECT_FALSE(inspect_table(ask("a.csv", "fine,5\nbad,1\n")).header)
      << "a number is not a column name";
  EXPECT_FALSE(inspect_table(ask("a.csv", "nice,good\nworse,bad\nfine,good\n")).header)
      << "a label that occurs again is not a column name";
  EXPECT_FALSE(inspect_table(ask("a.csv", "review,\nfine,good\n")).header)
      << "an empty field is not a column name";
  EXPECT_FALSE(inspect_table(ask("a.csv", std::string(80, 'x') + ",y\nfine,good\n")).header)
      << "a long text is not a column name";
  EXPECT_FALSE(inspect_table(ask("a.csv", "review,label\n")).header)
      << "a header needs a row after it";
  TableQuestion no = ask("a.csv", "review,stars\nfine,5\n");
  no.header = HeaderMode::no;
  EXPECT_FALSE(inspect_table(no).header);
}

TEST_F(TableTest, AnAnswerThatIsNotNeededMayBeNamedWhereThereIsNoHeader) {
  const auto inspect = [this](std::string_view content) {
    TableQuestion question = ask("a.csv", content, "1", "label");
    question.answers = Answers::optional;
    return inspect_table(question);
  };
  const TableLayout bare = inspect("fine,5\nbad,1\n");
  EXPECT_FALSE(bare.header);
  EXPECT_EQ(bare.columns[0], 0U);
  EXPECT_EQ(bare.columns[1], TableLayout::kNoColumn);
  const TableLayout named = inspect("review,label\nfine,5\n");
  EXPECT_TRUE(named.header);
  EXPECT_EQ(named.columns[1], 1U);
}

TEST_F(TableTest, AMissingColumnIsNamedWithTheExistingOnes) {
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
  expect_input_error(2, "has no column 2: it has 1", "--separator and --format",
                     inspect(ask("a.csv", "a~b\nc~d\n")));
  expect_input_error(2, "both column 2", "--text and --label",
                     inspect(ask("a.csv", content, "review", "2")));
  TableQuestion no = ask("a.csv", content, "review", "stars");
  no.header = HeaderMode::no;
  expect_input_error(2, "column 'review' of", "--header yes", inspect(no));
}

TEST_F(TableTest, ANameThatLooksTheSameIsExplained) {
  expect_input_error(
      2, "a.csv has no column 'text': it has ' text ', ' label '", "did you mean ' text '?",
      [&] { (void)inspect_table(ask("a.csv", " text , label \na,b\n", "text", "2")); });
  const std::string decomposed = "te\xCC\x81xt";  // an accent of its own
  const std::string composed = "t\xC3\xA9xt";
  for (const auto& [there, here] : {std::pair(decomposed, composed), {composed, decomposed}}) {
    expect_input_error(
        2, concat("has no column '", here, "': it has ", there, ", label"),
        "the file writes this name in another normal form of Unicode (NFC, NFD)",
        [&] { (void)inspect_table(ask("a.csv", concat(there, ",label\na,b\n"), here, "label")); });
  }
}

// A file that Excel writes in a country with a decimal comma.
constexpr const char* kGerman =
    "\xEF\xBB\xBF"
    "Nr;Text;Note\r\n1;\"Sehr gut, danke; gern wieder\";1,0\r\n2;\"Er sagte \"\"nie\"\"\nund "
    "ging, \";5,5\r\n3;gut, aber teuer;3,0\r\n";

TEST_F(TableTest, FindsTheSeparator) {
  const auto found = [&](std::string_view content, const std::string& text = "text",
                         const std::string& label = "label") {
    return inspect_table(ask("a.csv", content, text, label)).format.separator;
  };
  EXPECT_EQ(found("text,label\na;b,1\n"), ',');
  EXPECT_EQ(found("text;label\na, b;1\n"), ';');
  EXPECT_EQ(found("text\tlabel\na, b; c\t1\n"), '\t');
  EXPECT_EQ(found("text|label\na, b; c|1\n"), '|');
  EXPECT_EQ(found(kGerman, "Text", "Note"), ';');
  EXPECT_EQ(found(kGerman, "2", "3"), ';');
  EXPECT_EQ(found("gut, danke;pos\nschlecht;neg\nso, so, na ja;neg\n", "1", "2"), ';')
      << "without a header, the separator must give all rows the same number of fields";
  EXPECT_EQ(found("a|b,1\nc|d,2\n", "1", "2"), ',') << "a bar is more often in a text";
  EXPECT_EQ(found("text;label,extra\na;1,2\n", "text", "label,extra"), ';');
  EXPECT_EQ(found("Text;Label\na, b;1\nc;2\n", "Text", "2"), ';');
}

TEST_F(TableTest, AFirstLineOrAnOptionNamesTheSeparator) {
  EXPECT_EQ(inspect_table(ask("a.csv", "sep=~\r\ntext~label\r\na~b\r\n", "text", "label"))
                .format.separator,
            '~');
  TableQuestion given = ask("a.csv", "text:label,x\na:b,c\n", "text", "label,x");
  given.separator = ':';
  EXPECT_EQ(inspect_table(given).format.separator, ':');
  given.path = scratch_.write("a.txt", "text:label\na\tb:1\n");
  given.fields = text_and_label();
  EXPECT_EQ(inspect_table(given).format.text, TextFormat::csv)
      << "with --separator, a tab in a text separates nothing";
}

TEST_F(TableTest, SeveralSeparatorsThatFitAreRefused) {
  expect_input_error(2, "a.csv can be read with a semicolon or a bar between its fields",
                     "--separator semicolon, or --separator bar",
                     [&] { (void)inspect_table(ask("a.csv", "a;b|c\nd;e|f\n")); });
  const std::string german = "sch\xC3\xB6n;3,5\nmies;1,0\nna ja;2,5\n";
  expect_input_error(2, "a.csv can be read with a comma or a semicolon between its fields",
                     "--separator comma, or --separator semicolon",
                     [&] { (void)inspect_table(ask("a.csv", german, "1", "2")); });
  TableQuestion to_predict =
      ask("a.csv", "Nr;Text;Note (1,0 bis 6,0)\n1;gut, ja;3,5\n", "2", "Note");
  to_predict.answers = Answers::optional;
  expect_input_error(2, "a.csv can be read with a comma or a semicolon", "--separator semicolon",
                     [&] { (void)inspect_table(to_predict); });
}

TEST_F(TableTest, AMissingColumnIsNamedWithTheSeparatorThatWasFound) {
  expect_input_error(2, "a.csv has no column 'text': it has Nr, Text, Note", "did you mean 'Text'?",
                     [&] { (void)inspect_table(ask("a.csv", kGerman, "text", "Note")); });
  std::string wide = "c1";
  for (int i = 2; i <= 500; ++i) wide += concat(",c", i);
  expect_input_error(2, "c19, c20 and 480 others", "",
                     [&] { (void)inspect_table(ask("a.csv", wide + "\n", "texts", "c1")); });
}

TEST_F(TableTest, TwoColumnsOfTheSameNameAreRefusedAndTheHintWorks) {
  TableQuestion question = ask("a.csv", "text,label,text\na,1,b\n", "text", "label");
  expect_input_error(2, "a.csv has two columns named 'text', 1 and 3",
                     "and say that there is a header: --text 1 --header yes",
                     [&] { (void)inspect_table(question); });
  question.fields = text_and_label("1");
  question.header = HeaderMode::yes;
  EXPECT_EQ(inspect_table(question).columns[0], 0U);
  EXPECT_TRUE(inspect_table(question).header);
  EXPECT_EQ(inspect_table(ask("a.csv", "x,text,label,x\na,b,1,c\n", "text", "label")).columns[0],
            1U)
      << "columns that are not used may have the same name";
}

TEST(Separator, IsNamedOrACharacter) {
  EXPECT_EQ(parse_separator("auto"), kFindSeparator);
  EXPECT_EQ(parse_separator("semicolon"), ';');
  EXPECT_EQ(parse_separator("tab"), '\t');
  EXPECT_EQ(parse_separator("\\t"), '\t');
  EXPECT_EQ(parse_separator("~"), '~');
  expect_input_error(2, "--separator: 'semikolon' cannot separate fields",
                     "did you mean 'semicolon'?", [] { (void)parse_separator("semikolon"); });
  for (const char* none : {"", "x", "7", "\"", "\n", ";;"}) {
    expect_input_error(2, "cannot separate fields", "one punctuation mark",
                       [&] { (void)parse_separator(none); });
  }
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
