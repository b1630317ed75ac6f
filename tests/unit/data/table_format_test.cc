// find_table_format() alone decides whether a file is CSV or TSV and what separates its fields.
// docs/acceptance.md, Data: Separators are found or named, `sep=` lines are read, and a file that
// is not a table is refused with its kind.
#include "trainer/input/table_format.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"

namespace bp::trainer {
namespace {

using namespace std::string_literals;

class TableFormatTest : public testing::Test {
 protected:
  // Asks for the format of a table with the columns "text" and "label".
  FormatQuestion ask(const std::string& name, const std::string& content) {
    return {.path = scratch_.write(name, content),
            .by_name = true,
            .holds_columns = [](const std::vector<std::string>& row) {
              return row == std::vector<std::string>{"text", "label"};
            }};
  }
  Scratch scratch_;
};

TEST_F(TableFormatTest, IsDecidedByOptionsThenSuffixThenContent) {
  struct Case {
    std::string file;
    std::string content;
    TextFormat asked_format;
    char asked_separator;
    TableFormat expected;
    std::string name;
  };
  constexpr TextFormat kAuto = TextFormat::automatic;
  constexpr TextFormat kIsCsv = TextFormat::csv;
  constexpr TextFormat kIsTsv = TextFormat::tsv;
  const std::string commas = "text,label\na,1\n";
  const std::string tabs = "text\tlabel\na\t1\n";
  const std::string semicolons = "text;label\na;1\n";
  const std::string announced = "sep=;\r\ntext;label\r\na;1\r\n";
  const std::vector<Case> cases = {
      {"a.csv", commas, kAuto, kFindSeparator, {kIsCsv, ','}, "csv"},
      {"a.CSV", commas, kAuto, kFindSeparator, {kIsCsv, ','}, "csv"},
      {"a.csv", tabs, kAuto, kFindSeparator, {kIsCsv, '\t'}, "csv separated by tab"},
      {"a.csv", semicolons, kAuto, kFindSeparator, {kIsCsv, ';'}, "csv separated by semicolon"},
      {"a.csv", announced, kAuto, kFindSeparator, {kIsCsv, ';'}, "csv separated by semicolon"},
      {"a.csv", tabs, kIsTsv, kFindSeparator, {kIsTsv, '\t'}, "tsv"},
      {"a.csv", commas, kAuto, '~', {kIsCsv, '~'}, "csv separated by '~'"},
      {"a.tsv", commas, kAuto, kFindSeparator, {kIsTsv, '\t'}, "tsv"},
      {"a.tab", tabs, kAuto, kFindSeparator, {kIsTsv, '\t'}, "tsv"},
      {"a.tsv", tabs, kIsCsv, kFindSeparator, {kIsCsv, '\t'}, "csv separated by tab"},
      {"a.tsv", announced, kAuto, kFindSeparator, {kIsTsv, '\t'}, "tsv"},
      {"a.tsv", semicolons, kAuto, ';', {kIsTsv, ';'}, "tsv separated by semicolon"},
      {"a.txt", tabs, kAuto, kFindSeparator, {kIsTsv, '\t'}, "tsv"},
      {"a.txt", tabs, kAuto, '\t', {kIsTsv, '\t'}, "tsv"},
      {"a.txt", tabs, kAuto, ':', {kIsCsv, ':'}, "csv separated by colon"},
      {"a.txt", commas, kAuto, kFindSeparator, {kIsCsv, ','}, "csv"},
      {"folder.tsv/a",
       semicolons,
       kAuto,
       kFindSeparator,
       {kIsCsv, ';'},
       "csv separated by semicolon"},
  };
  std::filesystem::create_directory(scratch_.path("folder.tsv"));
  for (const Case& c : cases) {
    FormatQuestion question = ask(c.file, c.content);
    question.format = c.asked_format;
    question.separator = c.asked_separator;
    const TableFormat found = find_table_format(question);
    EXPECT_EQ(found, c.expected) << c.file << ": " << c.content;
    EXPECT_EQ(found.name(), c.name);
    EXPECT_EQ(found.has_usual_separator(), c.name == "csv" || c.name == "tsv");
    EXPECT_EQ(found.dialect(true).quotes, c.expected.text == kIsCsv);
    EXPECT_EQ(found.dialect(true).separator, c.expected.separator);
    EXPECT_TRUE(found.dialect(true).header);
    EXPECT_FALSE(found.dialect(false).header);
  }
}

TEST_F(TableFormatTest, OtherKindsOfFilesAndPipesAreRefused) {
  const auto bzip2 = ask("a.txt", "BZh91AY&SY\0\0"s);
  expect_input_error(65, "a.txt is compressed by bzip2", "bunzip2 -c",
                     [&] { (void)find_table_format(bzip2); });
  FormatQuestion pipe = ask("b.csv", "");
  pipe.path = scratch_.path("pipe.csv");
  ASSERT_EQ(::mkfifo(pipe.path.c_str(), 0600), 0);
  expect_input_error(66, "it is a pipe", "written to a file first",
                     [&] { (void)find_table_format(pipe); });
}

}  // namespace
}  // namespace bp::trainer
