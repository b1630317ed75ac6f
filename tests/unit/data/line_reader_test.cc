#include "trainer/input/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/compressed.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;

class LineReaderTest : public testing::Test {
 protected:
  std::vector<std::string> lines(const std::string& content) {
    LineReader reader(scratch_.write("a.txt", content), "");
    std::vector<std::string> lines;
    while (reader.next()) {
      lines.emplace_back(reader.line());
      EXPECT_EQ(reader.number(), static_cast<std::int64_t>(lines.size()));
    }
    return lines;
  }
  Scratch scratch_;
};

TEST_F(LineReaderTest, EndsLinesAtLineFeedsAndDropsCarriageReturnsBeforeThem) {
  EXPECT_THAT(lines("a\r\n\nb c\nd"), ElementsAre("a", "", "b c", "d"));
  EXPECT_THAT(lines("\xEF\xBB\xBF\x61\n"), ElementsAre("a")) << "a byte order mark is not text";
  EXPECT_THAT(lines(""), ElementsAre());
  EXPECT_THAT(lines(gzip_of("a\nb\n")), ElementsAre("a", "b"));
}

TEST_F(LineReaderTest, NamesTheLineOfAByteThatIsNotUtf8) {
  expect_input_error(65, "a.txt, line 2: is not UTF-8: byte 0xE9 at offset 5 of the file",
                     "--encoding", [&] { (void)lines("a\ncaf\xE9\n"); });
}

TEST_F(LineReaderTest, NamesTheLineWhereAPackedFileEnds) {
  std::string content;
  for (int i = 0; i < 20'000; ++i) content += std::to_string(i * i) + "\n";
  const std::string packed = gzip_of(content);
  expect_input_error(65, ": the file ends inside its gzip data", "gzip -t FILE",
                     [&] { (void)lines(packed.substr(0, packed.size() / 2)); });
}

}  // namespace
}  // namespace bp::trainer
