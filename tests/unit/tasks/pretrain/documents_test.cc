#include "trainer/tasks/pretrain/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/data/input_refusal.h"
#include "tests/unit/tasks/pretrain/text_files.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns each block as "a|b//c" for two documents, of two sentences and of one.
std::vector<std::string> blocks_of(const std::vector<std::string>& files,
                                   TextForm form,
                                   std::size_t block_bytes) {
  DocumentReader reader(files, form, block_bytes);
  DocumentBlock block;
  std::vector<std::string> all;
  while (reader.read(block)) {
    std::string shown = block.begins_with_other ? "(other) " : "";
    std::size_t begin = 0;
    std::size_t sentence = 0;
    for (const std::size_t end : block.documents) {
      for (; sentence < end; ++sentence) {
        shown += block.text.substr(begin, block.sentences[sentence] - begin);
        begin = block.sentences[sentence];
        shown += sentence + 1 < end ? "|" : "//";
      }
    }
    all.push_back(shown);
  }
  EXPECT_FALSE(reader.read(block));
  EXPECT_TRUE(block.documents.empty());
  return all;
}

class Documents : public TextFiles {};

TEST_F(Documents, EndAtBlankLinesAndAtTheEndOfAFile) {
  const std::string one = write("one", "\xEF\xBB\xBF\n\nA one.\r\n  A two. \n \t\n\nB one.\n");
  const std::string two = write("two", "C one.");
  const std::string none = write("none", "\n\n");
  EXPECT_THAT(blocks_of({one, none, two}, TextForm::sentences, 1000),
              ElementsAre("A one.|A two.//B one.//C one.//"));
}

TEST_F(Documents, OfRunningTextAreSplit) {
  const std::string path = write("text", "It rained. We left.\nNobody knows why.\n\nThe end.\n");
  EXPECT_THAT(blocks_of({path}, TextForm::running, 1000),
              ElementsAre("It rained.|We left.|Nobody knows why.//The end.//"));
}

TEST_F(Documents, FillBlocksAndLendTheirStartToABlockOfOneDocument) {
  const std::string path = write("text", "aaaa\nbbbb\n\ncccc\n\ndddd\neeee\n\nffff\n");
  EXPECT_THAT(blocks_of({path}, TextForm::sentences, 9),
              ElementsAre("aaaa|bbbb//cccc//", "dddd|eeee//ffff//"));
  EXPECT_THAT(blocks_of({path}, TextForm::sentences, 4),
              ElementsAre("aaaa|bbbb//", "(other) aaaa|bbbb//cccc//", "(other) cccc//dddd|eeee//",
                          "(other) dddd|eeee//ffff//"));
}

TEST_F(Documents, ThatAreLongerThanTwoBlocksAreCut) {
  const std::string path = write("text", "0\n\naaaa\nbbbb\ncccc\ndddd\neeee\n\nffff\n");
  EXPECT_THAT(blocks_of({path}, TextForm::sentences, 4),
              ElementsAre("0//aaaa|bbbb//", "(other) 0//cccc|dddd//", "(other) 0//eeee//",
                          "(other) eeee//ffff//"))
      << "a part is not lent to the next part of the same document";
}

TEST_F(Documents, AreNumberedThroughAllFiles) {
  const std::string path = write("text", "aaaa\n\nbbbb\n\ncccc\n");
  DocumentReader reader({path, path}, TextForm::sentences, 5);
  DocumentBlock block;
  std::vector<std::int64_t> first;
  while (reader.read(block)) first.push_back(block.first_document);
  EXPECT_THAT(first, ElementsAre(0, 2, 4));
}

TEST_F(Documents, BrokenTextIsRefusedWithItsLine) {
  const std::string path = write("text", "good\n\nbad \xFF here\n");
  EXPECT_THAT(
      test::input_refusal([&] { blocks_of({path}, TextForm::sentences, 100); }),
      HasSubstr("65: " + path + ", line 3: is not UTF-8: byte 0xFF at offset 10 of the file"));
  EXPECT_THAT(test::input_refusal([&] { blocks_of({path + "x"}, TextForm::running, 100); }),
              HasSubstr("66: "));
}

}  // namespace
}  // namespace bp::trainer
