// Data files in other encodings than UTF-8.
// docs/acceptance.md, Data: A file may be in UTF-16, Latin-1 or another encoding. An invalid byte
// is named with its row.
#include "trainer/input/encoding.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/compressed.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/input/open_input.h"
#include "trainer/input/row_source.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using namespace std::string_literals;

using Texts = std::vector<std::string>;

std::string utf16(std::u16string_view text, bool little) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xFFU);
    const char high = static_cast<char>(unit >> 8U);
    bytes += little ? std::string{low, high} : std::string{high, low};
  }
  return bytes;
}

class EncodingTest : public PrepareTest {
 protected:
  TableQuestion ask(const std::string& content, const std::string& encoding = "auto") {
    return {.path = scratch_.write("a.csv", content),
            .fields = text_and_label(),
            .encoding = parse_encoding(encoding)};
  }
  Texts texts(const std::string& content, const std::string& encoding = "auto") {
    const TableQuestion question = ask(content, encoding);
    RowSource rows = open_source(question.path, inspect_table(question));
    Texts texts;
    while (rows.next()) texts.emplace_back(rows.fields()[0]);
    return texts;
  }
};

TEST_F(EncodingTest, NamesAreThoseOfIconvOfPythonAndOfPeople) {
  EXPECT_EQ(parse_encoding("auto"), kFindEncoding);
  EXPECT_EQ(parse_encoding("UTF-8"), "utf-8");
  EXPECT_EQ(parse_encoding("utf8"), "utf-8");
  EXPECT_EQ(parse_encoding("utf_8_sig"), "utf-8");
  EXPECT_EQ(parse_encoding("latin-1"), "iso-8859-1");
  EXPECT_EQ(parse_encoding("Windows-1252"), "windows-1252");
  EXPECT_EQ(parse_encoding("cp1252"), "cp1252");
  EXPECT_EQ(parse_encoding("mac_roman"), "macintosh");
  EXPECT_EQ(parse_encoding("Shift_JIS"), "shift_jis");
  EXPECT_EQ(parse_encoding("utf_16_le"), "utf-16le") << "as Python writes it";
  const auto refused = [](const std::string& word, const std::string& hint) {
    expect_input_error(2, concat("--encoding: '", word, "' is not an encoding that iconv knows"),
                       hint, [&] { (void)parse_encoding(word); });
  };
  refused("windows-1225", "did you mean 'windows-1252'?");
  refused("klingon", "another name that iconv -l lists");
  refused("utf-8//IGNORE", "");
  refused("latin1//TRANSLIT", "");
  refused("", "auto, utf-8");
  refused("char", "");
}

TEST_F(EncodingTest, TheOptionNamesTheEncoding) {
  const std::string content = "text,label\ncaf\xE9 \x80,1\n";
  EXPECT_EQ(texts(content, "windows-1252"), Texts{"caf\u00e9 \u20ac"});
  EXPECT_EQ(texts(content, "latin-1"), Texts{"caf\u00e9 \u0080"});
  EXPECT_EQ(texts(gzip_of(content), "windows-1252"), Texts{"caf\u00e9 \u20ac"});
  EXPECT_EQ(texts("text,label\n\x93\xFA\x96{,1\n", "shift_jis"), Texts{"\u65e5\u672c"});
  EXPECT_EQ(texts("text,label\ncaf\u00e9,1\n", "utf-8"), Texts{"caf\u00e9"});
  EXPECT_EQ(texts("{\"text\": \"caf\xE9\", \"label\": 1}", "latin-1"), Texts{"caf\u00e9"});
  expect_input_error(65, "a.csv, row 1 (line 2): is not UTF-8: byte 0xE9 at offset 14 of the file",
                     "name the file's encoding, for instance --encoding windows-1252",
                     [&] { (void)texts(content); });
}

TEST_F(EncodingTest, Utf16WithAByteOrderMarkIsRecognized) {
  for (const bool little : {true, false}) {
    const std::string excel = utf16(u"\uFEFFtext\tlabel\r\ncaf\u00e9 \U0001F600\t1\r\n", little);
    EXPECT_EQ(texts(excel), Texts{"caf\u00e9 \U0001F600"});
    EXPECT_EQ(texts(zstd_of(excel)), Texts{"caf\u00e9 \U0001F600"});
    EXPECT_EQ(texts(excel, "utf-16"), Texts{"caf\u00e9 \U0001F600"});
    EXPECT_EQ(texts(excel, little ? "utf-16le" : "utf-16be"), Texts{"caf\u00e9 \U0001F600"})
        << "the byte order mark is not part of the first name";
    expect_input_error(65, "a.csv is UTF-16, not UTF-8", "--encoding utf-16",
                       [&] { (void)texts(excel, "utf-8"); });
    EXPECT_EQ(texts(utf16(u"\uFEFF{\"text\": \"a\", \"label\": 1}", little)), Texts{"a"});
  }
  EXPECT_EQ(texts(utf16(u"text,label\na,1\n", true), "utf-16le"), Texts{"a"});
  EXPECT_EQ(texts(utf16(u"text,label\na,1\n", false), "utf-16be"), Texts{"a"});
  EXPECT_EQ(
      texts("\xFF\xFE\0\0t\0\0\0e\0\0\0x\0\0\0t\0\0\0,\0\0\0l\0\0\0a\0\0\0b\0\0\0e\0\0\0l\0\0\0"
            "\n\0\0\0a\0\0\0,\0\0\0b\0\0\0"s,
            "utf-32"),
      Texts{"a"});
}

TEST_F(EncodingTest, AnInvalidByteNamesRowOffsetAndOption) {
  const std::string hint = "name the encoding that the file has: --encoding";
  std::string content = "text,label\n";
  for (int row = 0; row < 20000; ++row) content += "\"\xE9\n\xE9\",1\n";
  const auto place =
      concat("a.csv, row 20001 (line 40002): byte 0x81 at offset ", content.size() + 3);
  expect_input_error(65, place + " of the file is not windows-1252", hint,
                     [&] { (void)texts(content + "xyz\x81,1\n", "windows-1252"); });
  expect_input_error(65, place + " of the unpacked file is not windows-1252", hint,
                     [&] { (void)texts(gzip_of(content + "xyz\x81,1\n"), "windows-1252"); });
  const std::string lone = utf16(u"\uFEFFtext,label\nab", true);
  expect_input_error(65, concat("byte 0x3D at offset ", lone.size(), " of the file is not utf-16"),
                     hint, [&] { (void)texts(lone + "\x3D\xD8x\0,\0"s); });
  expect_input_error(65,
                     concat("row 1 (line 2): byte 0x61 at offset ", lone.size(),
                            " of the file begins a character that is not complete in utf-16"),
                     hint, [&] { (void)texts(lone + "a"); });
  expect_input_error(65, "row 1 (line 2): the file ends inside its gzip data", "gzip -t", [&] {
    const std::string packed = gzip_of(lone);
    (void)texts(packed.substr(0, packed.size() - 4));
  });
}

TEST_F(EncodingTest, CharactersMayCrossBlocksAndAnyReadIsServed) {
  std::u16string wide = u"\uFEFF";
  std::string narrow;
  for (int i = 0; i < 50000; ++i) {
    wide += i % 3 == 0 ? u"\U0001F600" : i % 3 == 1 ? u"\u20ac" : u"x";
    narrow += i % 3 == 0 ? "\U0001F600" : i % 3 == 1 ? "\u20ac" : "x";
  }
  const std::string path = scratch_.write("a", gzip_of(utf16(wide, true)));
  for (const std::size_t at_once : {1U, 2U, 63U, 64U, 1000U, 1U << 20U}) {
    const auto input = open_input(path);
    std::string room(at_once, '\0');
    std::string all;
    while (const std::size_t count = input->read(room)) all.append(room, 0, count);
    EXPECT_TRUE(all == narrow) << at_once;
    EXPECT_EQ(input->read(room), 0U) << "once more at the end";
  }
}

TEST_F(EncodingTest, IsPartOfTheFingerprintUnlessItIsFound) {
  PrepareOptions with = options(scratch_.write("a.csv", "text,label\na,1\na,\xE9\n"));
  with.encoding = "iso-8859-1";
  const std::string store = run(with).store;
  EXPECT_EQ(SampleStore::open(store).names(), (Texts{"1", "\u00e9"}));
  EXPECT_TRUE(run(with).reused);
  with.encoding = "koi8-r";
  with.store = store;
  expect_refused(with, 2, "label in column 2, encoding iso-8859-1 there, ", "--rebuild");
  with = options(scratch_.write("b.csv", "text,label\na,1\na,2\n"));
  (void)run(with);
  with.encoding = "utf-8";
  EXPECT_TRUE(run(with).reused);
}

}  // namespace
}  // namespace bp::trainer
