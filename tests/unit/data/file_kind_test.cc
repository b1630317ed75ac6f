// The reader of all sources refuses files that are no tables, and names their format.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/data/hash.h"
#include "trainer/data/table.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

using namespace std::string_literals;

class FileKind : public testing::Test {
 protected:
  void expect_refused(const std::string& content,
                      const std::string& text,
                      const std::string& hint) {
    for (const char* name : {"data.csv", "data.tsv", "data"}) {
      const TableQuestion question{
          .path = scratch_.write(name, content), .text_column = "text", .label_column = "label"};
      expect_input_error(65, concat(name, " is ", text), hint,
                         [&] { (void)inspect_table(question); });
    }
  }
  Scratch scratch_;
};

TEST_F(FileKind, BinaryFormatsAreNamed) {
  expect_refused("BZh91AY&SY\0\0"s, "compressed by bzip2", "bunzip2 -c OLD > NEW");
  expect_refused("\x89HDF\r\n\x1A\n\0\0"s, "an HDF5 file", "export its texts");
  expect_refused("PAR1\x15\x04\0"s, "a Parquet file", "read_parquet(OLD).to_csv(NEW");
  expect_refused("PK\3\4\x14\0\0\0\x08\0[Content_Types].xml"s, "an Office file (.xlsx)",
                 "save it as \"CSV UTF-8\"");
  expect_refused("PK\3\4\x14\0\0\0\x08\0data.csvtext,label\n"s, "a zip archive", "unzip OLD");
  expect_refused("PK\3\4mimetypeapplication/vnd.oasis.opendocument.spreadsheetPK"s,
                 "an OpenDocument spreadsheet", "CSV UTF-8");
  expect_refused("SQLite format 3\0\x10\0"s, "an SQLite file", "its name ends in .sqlite");
}

TEST_F(FileKind, AJsonArrayIsNamed) {
  for (const char* array : {"[{\"text\": \"a\"}]", "[\n  { \"text\" : \"a\" } ]", " [{},{}]",
                            "\xEF\xBB\xBF[ {\"a\":1}]"}) {
    expect_refused(array, "a JSON array, not JSON lines", "jq -c '.[]' OLD > NEW");
  }
  const TableQuestion braces{.path = scratch_.write("a.csv", "text,label\n{\"a\": 1},x\n{b},y\n"),
                             .text_column = "text",
                             .label_column = "label"};
  EXPECT_EQ(inspect_table(braces).text, 0U) << "a brace after the first line is text";
}

TEST_F(FileKind, Utf16WithoutAByteOrderMarkIsNamed) {
  const auto wide = [](const std::string& text, bool little) {
    std::string out;
    for (const char c : text) out += little ? std::string{c, '\0'} : std::string{'\0', c};
    return out;
  };
  const std::string table = "text\tlabel\r\nfine\t1\r\n";
  expect_refused(wide(table, true), "UTF-16 without a byte order mark", "--encoding utf-16le");
  expect_refused(wide(table, false), "UTF-16 without a byte order mark", "--encoding utf-16be");
}

TEST_F(FileKind, Utf32IsNamed) {
  expect_refused("\xFF\xFE\0\0t\0\0\0"s, "UTF-32, not UTF-8", "--encoding utf-32");
  expect_refused("\0\0\xFE\xFF\0\0\0t"s, "UTF-32, not UTF-8", "--encoding utf-32");
}

// Each of these calls once waited forever for a process that writes to the pipe.
TEST_F(FileKind, APipeIsRefusedAtOnce) {
  const std::string pipe = scratch_.path("pipe.csv");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const TableQuestion question{.path = pipe, .text_column = "text", .label_column = "label"};
  expect_input_error(66, "pipe.csv: it is a pipe, not a regular file",
                     "a pipe must be written to a file first",
                     [&] { (void)inspect_table(question); });
  expect_input_error(66, "it is a pipe", "", [&] { (void)hash_file(pipe); });
  EXPECT_THROW((void)Vocabulary::read(pipe), Error);
}

}  // namespace
}  // namespace bp::trainer
