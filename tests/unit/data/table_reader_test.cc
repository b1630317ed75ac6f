#include "trainer/input/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using Table = std::vector<std::vector<std::string>>;

Table read_table(const std::string& path, const Dialect& dialect) {
  TableReader reader(path, dialect);
  Table table;
  while (reader.next()) {
    table.emplace_back(reader.fields().begin(), reader.fields().end());
  }
  return table;
}

class TableReaderTest : public testing::Test {
 protected:
  Table csv(std::string_view content) { return read_table(scratch_.write("t.csv", content), kCsv); }
  Table tsv(std::string_view content) { return read_table(scratch_.write("t.tsv", content), kTsv); }
  void expect_error(std::string_view content, const std::string& text, const std::string& hint) {
    expect_input_error(65, text, hint, [&] { csv(content); });
  }
  Scratch scratch_;
};

TEST_F(TableReaderTest, ReadsPlainQuotedAndEmptyFields) {
  EXPECT_EQ(csv("a,b\n\"x, y\",\"say \"\"no\"\"\"\n,\n\"\",\"\"\"\"\n"),
            (Table{{"a", "b"}, {"x, y", "say \"no\""}, {"", ""}, {"", "\""}}));
}

TEST_F(TableReaderTest, AFieldMayHoldLineBreaks) {
  EXPECT_EQ(csv("\"a\nb\",\"c\r\nd\"\ne,f\n"), (Table{{"a\nb", "c\r\nd"}, {"e", "f"}}));
}

TEST_F(TableReaderTest, LineEndsMayBeOfAnyKindAndTheLastMayBeMissing) {
  EXPECT_EQ(csv("a,b\r\nc,d\re,f\n\"g\",\"h\"\r\ni,"),
            (Table{{"a", "b"}, {"c", "d"}, {"e", "f"}, {"g", "h"}, {"i", ""}}));
  EXPECT_EQ(csv("a,\"b\""), (Table{{"a", "b"}}));
  EXPECT_EQ(csv("a,b\r"), (Table{{"a", "b"}}));
}

TEST_F(TableReaderTest, SkipsByteOrderMarkAndBlankLines) {
  EXPECT_EQ(csv("\xEF\xBB\xBF"
                "a,b\n\n\r\nc,d\n\n"),
            (Table{{"a", "b"}, {"c", "d"}}));
  EXPECT_TRUE(csv("").empty());
  EXPECT_TRUE(csv("\xEF\xBB\xBF").empty());
}

TEST_F(TableReaderTest, SkipsAFirstLineThatNamesTheSeparator) {
  EXPECT_EQ(csv("sep=,\r\na,b\r\n"), (Table{{"a", "b"}}));
  EXPECT_EQ(csv("\xEF\xBB\xBF\"Sep=,\"\na,b\n"), (Table{{"a", "b"}}));
  EXPECT_EQ(csv("sep=;,\na,b\n"), (Table{{"sep=;", ""}, {"a", "b"}}));
  EXPECT_EQ(tsv("sep=;\n"), (Table{{"sep=;"}}));
  TableReader reader(scratch_.write("t.csv", "sep=;\na;b\nc;d;e\n"), {.separator = ';'});
  EXPECT_EQ(reader.announced_separator(), ';');
  ASSERT_TRUE(reader.next());
  expect_input_error(65, "row 2 (line 3): has 3 fields",
                     "a text with a semicolon or a line break must be in quotes; --separator names",
                     [&] { (void)reader.next(); });
}

TEST_F(TableReaderTest, AQuoteInsideAnUnquotedFieldIsText) {
  EXPECT_EQ(csv("5\" disk,1\n"), (Table{{"5\" disk", "1"}}));
}

TEST_F(TableReaderTest, TsvHasNoQuotes) {
  EXPECT_EQ(tsv("\"a, b\t1\r\nc \"d\"\t2\ne\rf\t3"),
            (Table{{"\"a, b", "1"}, {"c \"d\"", "2"}, {"e\rf", "3"}}));
}

TEST_F(TableReaderTest, CountsRowsWithoutTheHeaderAndLinesWithThoseInsideFields) {
  Dialect dialect = kCsv;
  dialect.header = true;
  TableReader reader(scratch_.write("t.csv", "h,i\n\n\"a\nb\",1\nc,2\n"), dialect);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.row(), 0);
  EXPECT_THAT(reader.place(), testing::EndsWith("t.csv, header (line 1)"));
  ASSERT_TRUE(reader.next());
  EXPECT_THAT(reader.place(), testing::EndsWith("t.csv, row 1 (line 3)"));
  ASSERT_TRUE(reader.next());
  EXPECT_THAT(reader.place(), testing::EndsWith("t.csv, row 2 (line 5)"));
  EXPECT_FALSE(reader.next());
}

TEST_F(TableReaderTest, ReadsRecordsLongerThanTheBufferAndAcrossItsEnds) {
  Table table;
  std::string content;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::string text(i * 37 % 9001, static_cast<char>('a' + i % 26));
    table.push_back({text + "\n\"" + text, text});
    content += concat("\"", text, "\n\"\"", text, "\",", text, i % 2 == 0 ? "\r\n" : "\n");
  }
  const std::string huge(3000000, 'x');
  table.push_back({huge, "1"});
  content += "\"" + huge + "\",1";
  EXPECT_TRUE(csv(content) == table);
}

TEST_F(TableReaderTest, NamesTheRowOfABrokenQuote) {
  expect_error("a,b\nc,\"d\ne,f\n", "t.csv, row 2 (line 2): a quote is opened and never closed",
               "twice");
  expect_error("a,b\nc,\"d\" e\n",
               "t.csv, row 2 (line 2): field 2 continues after its closing quote", "twice");
}

// As Spark and MySQL write them.
// docs/features.md, Input: CSV whose quotes are escaped by a backslash | `--quote-escape backslash`
TEST_F(TableReaderTest, ABackslashMayEscapeAQuote) {
  Dialect dialect = kCsv;
  dialect.backslash = true;
  const auto read = [&](std::string_view content) {
    return read_table(scratch_.write("t.csv", content), dialect);
  };
  EXPECT_EQ(read("\"a \\\"b\\\", c\",1\n"), (Table{{"a \"b\", c", "1"}}));
  EXPECT_EQ(read("\"a\\\\\",1\n"), (Table{{"a\\", "1"}})) << "a backslash at the end";
  EXPECT_EQ(read("\"\\\\\\\"\",\"\"\n"), (Table{{"\\\"", ""}}));
  EXPECT_EQ(read("\"a\\nb\",c\\d\n"), (Table{{"a\\nb", "c\\d"}})) << "others stay";
  EXPECT_EQ(read("\"a \"\"b\"\"\",1\n"), (Table{{"a \"b\"", "1"}})) << "both ways";
  expect_error(
      "\"a \\\"b\\\", c\",1\n", "t.csv, row 1 (line 1): field 1 continues after its closing",
      "if \\\" is a quote inside a quoted field of this file, say so: --quote-escape backslash");
}

TEST_F(TableReaderTest, NamesRowAndByteThatIsNotUtf8) {
  expect_error("a,b\n\"c\nc\",d\ncaf\xE9,f\n",
               "t.csv, row 3 (line 4): is not UTF-8: byte 0xE9 at offset 15 of the file",
               "--encoding");
  expect_error(std::string_view("a\0b\0c\0,\0", 8),
               "is UTF-16 without a byte order mark, not UTF-8", "--encoding utf-16le");
}

TEST_F(TableReaderTest, NamesRaggedRows) {
  expect_error("a,b\nc\n", "t.csv, row 2 (line 2): has 1 fields, the first line has 2",
               "in quotes");
  expect_input_error(65, "row 2 (line 2): has 3 fields", "a tab", [&] { tsv("a\tb\nc\td\te\n"); });
  expect_error("a,b\nc,d,\n", "row 2 (line 2): has 3 fields, the first line has 2",
               "the row ends with a comma, which makes an empty field");
}

TEST_F(TableReaderTest, SaysWhyAFileCannotBeRead) {
  const auto open = [&](const std::string& path) {
    return [=] { const TableReader reader(path, kCsv); };
  };
  expect_input_error(66, "none.csv: No such file or directory", "check the name",
                     open(scratch_.path("none.csv")));
  expect_input_error(66, "not a regular file", "a pipe", open(scratch_.path("")));
}

// Python's csv module reads the same random files. It is strict, so that it also refuses broken
// quotes.
constexpr const char* kOracle = R"(
import csv, glob, sys
for path in sorted(glob.glob(sys.argv[1] + '/*.csv')):
    try:
        with open(path, newline='', encoding='utf-8') as f:
            rows = [r for r in csv.reader(f, strict=True) if r]
            if len({len(r) for r in rows}) > 1: raise csv.Error
            print(path, '|'.join(','.join(c.encode().hex() for c in r) for r in rows), sep=':')
    except csv.Error:
        print(path, 'error', sep=':')
)";

std::string hex_of(const Table& table) {
  std::string text;
  for (const auto& row : table) {
    text += &row == table.data() ? "" : "|";
    for (const std::string& field : row) {
      text += &field == row.data() ? "" : ",";
      for (const char c : field) {
        text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
        text += "0123456789abcdef"[static_cast<unsigned char>(c) & 0xFU];
      }
    }
  }
  return text;
}

TEST_F(TableReaderTest, AgreesWithPythonOnRandomFiles) {
  const std::vector<std::string> pieces = {"a",    "bc", ",",    ",",  "\"", "\"",
                                           "\"\"", "\n", "\r\n", "\r", " ",  "\xC3\xA9"};
  std::uint64_t state = 12345;
  std::string expected;
  int readable = 0;
  for (int file = 1000; file < 3000; ++file) {
    std::string content;
    for (std::uint64_t left = file % 12; left > 0; --left) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      content += pieces[(state >> 33) % pieces.size()];
    }
    const std::string path = scratch_.write(concat(file, ".csv"), content);
    try {
      expected += concat(path, ":", hex_of(read_table(path, kCsv)), "\n");
      ++readable;
    } catch (const InputError&) {
      expected += concat(path, ":error\n");
    }
  }
  EXPECT_GT(readable, 500);
  const std::string script = scratch_.write("oracle.py", kOracle);
  const std::string output = scratch_.path("oracle.txt");
  ASSERT_EQ(std::system(concat("python3 ", script, " ", scratch_.path(""), " >", output).c_str()),
            0);
  EXPECT_EQ(read_file(output), expected);
}

}  // namespace
}  // namespace bp::trainer
