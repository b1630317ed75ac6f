// Data files that gzip or zstd has compressed.
// docs/acceptance.md, Data: Files that gzip or zstd has compressed are read. A damaged or truncated
// one is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/compressed.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/input/open_input.h"
#include "trainer/input/table.h"
#include "trainer/input/table_reader.h"

namespace bp::trainer {
namespace {

using namespace std::string_literals;

std::string gzip(std::string_view text) { return gzip_of(text); }
std::string zstd(std::string_view text) { return zstd_of(text); }

struct Program {
  std::string name;
  std::string (*pack)(std::string_view text);
};
const std::vector<Program> kPrograms{{"gzip", gzip}, {"zstd", zstd}};

// Texts that do not compress well, so that their packed bytes fill several blocks.
std::string table_of(int rows) {
  std::string table = "text,label\n";
  std::uint64_t state = 7;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < 8; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      table += concat(state, " ");
    }
    table += concat(",", row % 2, "\n");
  }
  return table;
}

class CompressedInputTest : public testing::Test {
 protected:
  static std::string content(const std::string& path, std::size_t at_once) {
    const auto input = open_input(path);
    std::string all;
    std::string room(at_once, '\0');
    while (const std::size_t count = input->read(room)) all.append(room, 0, count);
    return all;
  }
  void expect_broken(const std::string& packed, const std::string& text, const std::string& hint) {
    const std::string path = scratch_.write("a.csv", packed);
    expect_input_error(65, text, hint, [&] {
      TableReader reader(path, kCsv);
      while (reader.next()) {
      }
    });
  }
  Scratch scratch_;
};

TEST_F(CompressedInputTest, IsRecognizedByItsFirstBytesAndReadInPiecesOfAnySize) {
  const std::string table = table_of(3000);
  for (const Program& program : kPrograms) {
    const std::string path = scratch_.write("named-like-plain.csv", program.pack(table));
    for (const std::size_t at_once : {7U, 1000U, 1U << 16U, 1U << 20U}) {
      EXPECT_TRUE(content(path, at_once) == table) << program.name << " " << at_once;
    }
    EXPECT_STREQ(open_input(path)->content_name(), "the unpacked file");
  }
  const std::string plain = scratch_.write("named-like-packed.csv.gz", table);
  EXPECT_TRUE(content(plain, 1000) == table);
  EXPECT_STREQ(open_input(plain)->content_name(), "the file");
}

TEST_F(CompressedInputTest, TheStartIsNotConsumedAndAtMost16KiB) {
  const std::string table = table_of(3000);
  for (const Program& program : kPrograms) {
    const auto input = open_input(scratch_.write("a.csv", program.pack(table)));
    EXPECT_TRUE(input->start() == table.substr(0, 16384)) << program.name;
    EXPECT_TRUE(input->start() == table.substr(0, 16384)) << "a second time";
  }
}

TEST_F(CompressedInputTest, MembersAndFramesAreOneContent) {
  const std::string table = table_of(2000);
  for (const Program& program : kPrograms) {
    const std::string parts =
        program.pack(table.substr(0, 70000)) + program.pack("") + program.pack(table.substr(70000));
    EXPECT_TRUE(content(scratch_.write("a", parts), 5000) == table) << program.name;
  }
  const std::string padded = gzip_of("text,label\n") + std::string(100000, '\0') + gzip_of("a,1\n");
  EXPECT_EQ(content(scratch_.write("a", padded + "\0\0"s), 100), "text,label\na,1\n");
  const std::string skippable = "\x50\x2A\x4D\x18\3\0\0\0abc"s;
  EXPECT_EQ(content(scratch_.write("a", skippable + zstd_of("a,1\n")), 100), "a,1\n");
}

TEST_F(CompressedInputTest, EveryByteThatIsMissingIsNoticed) {
  const std::string table = "text,label\n" + std::string(300, 'x') + ",1\n";
  for (const Program& program : kPrograms) {
    const std::string packed = program.pack(table);
    for (std::size_t length = 4; length < packed.size(); ++length) {
      expect_broken(packed.substr(0, length),
                    concat("the file ends inside its ", program.name, " data, at offset ", length),
                    concat("not copied or downloaded to its end; copy or download it again; ",
                           program.name, " -t FILE tests it"));
    }
  }
}

TEST_F(CompressedInputTest, DamageNamesTheRowThatIsNotComplete) {
  const std::string table = table_of(3000);
  for (const Program& program : kPrograms) {
    std::string packed = program.pack(table);
    packed.resize(packed.size() / 2);
    const std::string path = scratch_.write("a.csv", packed);
    TableReader reader(path, {.header = true});
    std::size_t length = 0;
    std::int64_t rows = 0;
    try {
      while (reader.next()) {
        length += reader.fields()[0].size() + reader.fields()[1].size() + 2;
        rows = reader.row();
      }
      ADD_FAILURE() << "no error";
    } catch (const InputError& error) {
      EXPECT_GT(rows, 500) << program.name;
      EXPECT_TRUE(table.substr(length, 1) != "\n" && table[length - 1] == '\n');
      EXPECT_THAT(error.what(), testing::HasSubstr(concat("a.csv, row ", rows + 1, " (line ",
                                                          rows + 2, "): the file ends inside")));
    }
  }
}

TEST_F(CompressedInputTest, ChangedBytesAndWrongChecksumsAreNoticed) {
  const std::string table = table_of(2000);
  for (const Program& program : kPrograms) {
    const std::string packed = program.pack(table);
    for (const std::size_t at : {packed.size() / 3, packed.size() / 2, packed.size() - 2}) {
      std::string changed = packed;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      expect_broken(changed, concat("its ", program.name, " data are damaged at offset "),
                    concat("copy or download it again; ", program.name, " -t FILE tests it"));
    }
  }
  std::string method = gzip_of(table);
  method[2] = 9;
  expect_broken(method,
                "a.csv: its gzip data are damaged at offset 4 of the file (unknown compression",
                "gzip -t");
}

TEST_F(CompressedInputTest, OtherBytesBehindTheLastMemberAreRefused) {
  for (const Program& program : kPrograms) {
    const std::string packed = program.pack("a,1\nb,2\n");
    expect_broken(packed + "c,3\nd,4\n",
                  concat("a.csv: other bytes follow its ", program.name, " data, from offset ",
                         packed.size()),
                  concat("join only files that ", program.name, " has compressed"));
  }
}

TEST_F(CompressedInputTest, AWindowThatNeedsMuchMemoryIsRefused) {
  expect_broken(zstd_of(table_of(10), 28), "compressed with a window of more than 128 MiB",
                "zstd -dc --long=31 OLD > NEW");
  EXPECT_EQ(content(scratch_.write("a", zstd_of("a,1\n", 27)), 100), "a,1\n");
}

TEST_F(CompressedInputTest, ContentThatIsNoTableIsNamed) {
  for (const Program& program : kPrograms) {
    expect_broken(program.pack(gzip_of("a,1\n")), "a.csv (unpacked) is compressed by gzip",
                  "gunzip -c");
    expect_broken(program.pack("\x89HDF\r\n\x1A\n"), "a.csv (unpacked) is an HDF5 file", "");
    expect_broken(program.pack("a,1\ncaf\xE9,2\n"),
                  "row 2 (line 2): is not UTF-8: byte 0xE9 at offset 7 of the unpacked file",
                  "--encoding windows-1252");
  }
}

TEST_F(CompressedInputTest, TheFormatIsThatOfTheContentAndOfTheNameWithoutItsLastSuffix) {
  for (const Program& program : kPrograms) {
    const auto format = [&](const std::string& name, const std::string& table) {
      return inspect_table(
                 {.path = scratch_.write(name, program.pack(table)), .fields = text_and_label()})
          .format.name();
    };
    EXPECT_EQ(format("a.tsv.gz", "text\tlabel\n\"x\t1\n"), "tsv");
    EXPECT_EQ(format("a.TAB.ZST", "text\tlabel\n\"x\t1\n"), "tsv");
    EXPECT_EQ(format("a.csv.gz", "text;label\nx;1\n"), "csv separated by semicolon");
    EXPECT_EQ(format("a.gz", "text\tlabel\nx\t1\n"), "tsv");
    EXPECT_EQ(format("a", "sep=|\ntext|label\nx|1\n"), "csv separated by bar");
  }
}

TEST_F(CompressedInputTest, TheSuffixOfACompressedFileIsNoPartOfItsName) {
  EXPECT_EQ(unpacked_name("d/a.csv.gz"), "d/a.csv");
  EXPECT_EQ(unpacked_name("a.csv.ZST"), "a.csv");
  EXPECT_EQ(unpacked_name("a.gz.csv"), "a.gz.csv");
  EXPECT_EQ(unpacked_name("d/.gz"), "d/.gz");
  EXPECT_EQ(unpacked_name(".gz"), ".gz");
}

}  // namespace
}  // namespace bp::trainer
