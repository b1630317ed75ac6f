// The reader of all sources refuses files that are not tables, and names their format.
// docs/acceptance.md, Data: Separators are found or named, `sep=` lines are read, and a file that
// is not a table is refused with its kind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/classify_data.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/common/hash.h"
#include "trainer/input/table.h"
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
      const TableQuestion question{.path = scratch_.write(name, content),
                                   .fields = text_and_label()};
      expect_input_error(65, concat(name, " is ", text), hint,
                         [&] { (void)inspect_table(question); });
    }
  }
  Scratch scratch_;
};

TEST_F(FileKind, BinaryFormatsAreNamedWithTheStepThatConvertsThem) {
  const std::string unpack = "unpack it";
  const std::string spreadsheet = "save it as \"CSV UTF-8\"";
  expect_refused("BZh91AY&SY\0\0"s, "compressed by bzip2", "bunzip2 -c OLD | gzip > NEW");
  expect_refused(
      "\xFD"
      "7zXZ\0\0"s,
      "compressed by xz", "xz -dc OLD | gzip > NEW");
  expect_refused("\x04\x22\x4D\x18\x64"s, "compressed by lz4", unpack);
  expect_refused("7z\xBC\xAF\x27\x1C\0"s, "a 7z archive", "7z x OLD");
  expect_refused("Rar!\x1A\x07\1\0"s, "a RAR archive", unpack);
  expect_refused("data.csv" + std::string(249, '\0') + "ustar\0"s, "a tar archive", "tar -xf OLD");
  expect_refused("\x89HDF\r\n\x1A\n\0\0"s, "an HDF5 file", "h5py");
  expect_refused(std::string(512, '\0') + "\x89HDF\r\n\x1A\n\0\0"s, "an HDF5 file", "read_hdf");
  expect_refused("PAR1\x15\x04\0"s, "a Parquet file", "read_parquet(OLD).to_csv(NEW");
  expect_refused("ARROW1\0\0\xFF\xFF"s, "an Arrow or Feather file", "read_feather(OLD)");
  expect_refused("FEA1\0\0\0\0"s, "a Feather file", "read_feather(OLD)");
  expect_refused("\xFF\xFF\xFF\xFF\x90\1\0\0"s, "an Arrow stream", "Dataset.from_file(OLD)");
  expect_refused("ORC\x08\x03"s, "an ORC file", "read_orc(OLD)");
  expect_refused("Obj\x01\x04"s, "an Avro file", "export its texts");
  expect_refused("SQLite format 3\0\x10\0"s, "an SQLite file", "its name ends in .sqlite");
  expect_refused("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0"s, "an old Excel or Word file", spreadsheet);
  expect_refused("\x93NUMPY\1\0"s, "a NumPy array (.npy)", "with Python and numpy");
  for (const std::string& protocol :
       {"\x80\x02]q"s, "\x80\x03]q"s, "\x80\x04\x95\0"s, "\x80\x05\x95\0"s}) {
    expect_refused(protocol, "a Python pickle", "read_pickle(OLD)");
  }
  expect_refused("\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}"s, "a safetensors file", "--model");
  expect_refused("%PDF-1.7\n", "a PDF", "export its texts");
  expect_refused(
      "\x7F"
      "ELF\2\1"s,
      "a program", "name a data file");
}

TEST_F(FileKind, ZipArchivesAreNamedByTheirFirstNames) {
  const std::string zip = "PK\3\4\x14\0\0\0\x08\0"s;
  const std::string spreadsheet = "save it as \"CSV UTF-8\"";
  expect_refused(zip + "[Content_Types].xml", "an Office file (.xlsx)", spreadsheet);
  expect_refused(zip + "[Content_Types].xml...PK\3\4xl/workbook.xml", "an Excel file (.xlsx)",
                 spreadsheet);
  expect_refused(zip + "word/document.xml", "a Word file (.docx)", spreadsheet);
  expect_refused(zip + "mimetypeapplication/vnd.oasis.opendocument.spreadsheetPK",
                 "an OpenDocument spreadsheet (.ods)", spreadsheet);
  expect_refused(zip + "arr_0.npy\x93NUMPY", "a file of NumPy arrays (.npz)", "numpy");
  expect_refused(zip + "archive/data.pkl", "a PyTorch file", "--model");
  expect_refused(zip + "data.csvtext,label\n", "a zip archive", "unzip OLD");
  expect_refused("PK\5\6\0\0"s, "a zip archive", "unzip OLD");
}

TEST_F(FileKind, WhatADownloadLeftInsteadOfTheFileIsNamed) {
  expect_refused("<!DOCTYPE html>\n<html>", "a web page", "download the file itself");
  expect_refused("<html lang=\"en\">", "a web page", "download the file itself");
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
                 "a pointer of Git LFS", "git lfs pull");
}

TEST_F(FileKind, ABinaryFileOfAnUnknownKindIsNotCalledBadUtf8) {
  const std::string unknown = "\x01\x02\xFE\0\0\0\x90 text,label"s;
  const auto ask = [&](const std::string& content) {
    return TableQuestion{.path = scratch_.write("a.csv", content), .fields = text_and_label()};
  };
  expect_input_error(65, "a.csv is a binary file of an unknown kind, not a text file", "as a CSV",
                     [&] { (void)inspect_table(ask(unknown)); });
  EXPECT_EQ(inspect_table(ask("text,label\ncaf\xE9,1\n")).columns[0], 0U)
      << "text of another encoding has no zero byte";
  EXPECT_EQ(inspect_table(ask("text,label\na\0b,1\n"s)).columns[0], 0U)
      << "a zero byte is valid UTF-8";
  // A character lies across the end of the bytes that are looked at.
  const std::string cut = "text,label\n\0"s + std::string((1U << 14U) - 13, 'x') + "\u20ac,1\n";
  EXPECT_EQ(inspect_table(ask(cut)).columns[0], 0U);
}

TEST_F(FileKind, AJsonArrayIsNamed) {
  for (const char* array : {"[{\"text\": \"a\"}]", "[\n  { \"text\" : \"a\" } ]", " [{},{}]",
                            "\xEF\xBB\xBF[ {\"a\":1}]"}) {
    expect_refused(array, "a JSON array, not JSON lines", "jq -c '.[]' OLD > NEW");
  }
  const TableQuestion braces{.path = scratch_.write("a.csv", "text,label\n{\"a\": 1},x\n{b},y\n"),
                             .fields = text_and_label()};
  EXPECT_EQ(inspect_table(braces).columns[0], 0U) << "a brace after the first line is text";
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
  const TableQuestion question{.path = pipe, .fields = text_and_label()};
  expect_input_error(66, "pipe.csv: it is a pipe, not a regular file",
                     "a pipe must be written to a file first",
                     [&] { (void)inspect_table(question); });
  expect_input_error(66, "it is a pipe", "", [&] { (void)hash_file(pipe); });
  EXPECT_THROW((void)Vocabulary::read(pipe), Error);
}

}  // namespace
}  // namespace bp::trainer
