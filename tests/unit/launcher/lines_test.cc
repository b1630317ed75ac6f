#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>

#include "launcher/report/line_assembler.h"

namespace bp::launcher {
namespace {

using Time = LineAssembler::Time;
using namespace std::chrono_literals;

std::string whole(PrefixStyle style, const std::string& text, std::size_t step = 1U << 30U) {
  LineAssembler lines(style, 3, Stream::err);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += step) {
    lines.feed(std::string_view(text).substr(at, step), Time{}, out);
  }
  lines.finish(Time{}, out);
  return out;
}

TEST(LineAssembler, PutsThePrefixBeforeEachLine) {
  EXPECT_EQ(whole(PrefixStyle::rank, "a\nb\n"), "[3] a\n[3] b\n");
  EXPECT_EQ(whole(PrefixStyle::horovod, "a\n"), "[3]<stderr>:a\n");
  EXPECT_EQ(whole(PrefixStyle::none, "a\nb\n"), "a\nb\n");
  const std::string timed = whole(PrefixStyle::time, "a\n");
  EXPECT_EQ(timed.substr(2, 1) + timed.substr(5, 1) + timed.substr(8), "::.000 [3] a\n") << timed;
}

TEST(LineAssembler, KeepsBlankAndUnterminatedLines) {
  EXPECT_EQ(whole(PrefixStyle::rank, "\n\na"), "[3] \n[3] \n[3] a\n");
  EXPECT_EQ(whole(PrefixStyle::none, "\n\na"), "\n\na") << "exact bytes";
  EXPECT_EQ(whole(PrefixStyle::rank, ""), "");
}

TEST(LineAssembler, HoldsALineBackUntilItIsWhole) {
  LineAssembler lines(PrefixStyle::rank, 0, Stream::out);
  std::string out;
  lines.feed("half", Time{}, out);
  EXPECT_EQ(out, "");
  lines.feed(" and half\nrest", Time{}, out);
  EXPECT_EQ(out, "[0] half and half\n");
}

TEST(LineAssembler, ShowsOnlyTheLastStateOfARedrawnLine) {
  EXPECT_EQ(whole(PrefixStyle::rank, "10%\r20%\r30%\n"), "[3] 30%\n");
  EXPECT_EQ(whole(PrefixStyle::rank, "\r10%\r20%\n"), "[3] 20%\n");
  EXPECT_EQ(whole(PrefixStyle::rank, "dos\r\nlines\r\n"), "[3] dos\r\n[3] lines\r\n");
  EXPECT_EQ(whole(PrefixStyle::rank, "\r\n"), "[3] \r\n");
  EXPECT_EQ(whole(PrefixStyle::none, "10%\r20%\r\n"), "10%\r20%\r\n");
}

TEST(LineAssembler, ShowsProgressAtMostOnceASecond) {
  LineAssembler lines(PrefixStyle::rank, 0, Stream::err);
  std::string out;
  lines.feed("1%\r2%", Time{}, out);
  EXPECT_EQ(out, "[0] 1%\n");
  lines.feed("\r3%\r4%", Time{} + 999ms, out);
  EXPECT_EQ(out, "[0] 1%\n");
  lines.feed("\r5%", Time{} + 1s, out);
  EXPECT_EQ(out, "[0] 1%\n[0] 4%\n");
  lines.feed("\rdone\n", Time{} + 1s, out);
  EXPECT_EQ(out, "[0] 1%\n[0] 4%\n[0] done\n");
}

TEST(LineAssembler, IsTheSameInAnySlicing) {
  std::string text;
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    text += std::string_view("ab\n\xc3\xa4 \n")[random() % 7];
  }
  for (const PrefixStyle style : {PrefixStyle::none, PrefixStyle::rank, PrefixStyle::horovod}) {
    for (std::size_t step = 1; step < 40; ++step) {
      EXPECT_EQ(whole(style, text, step), whole(style, text)) << step;
    }
  }
}

TEST(LineAssembler, CutsALineWithoutEnd) {
  const std::string text(3 * LineAssembler::kMaxLine, 'x');
  EXPECT_EQ(whole(PrefixStyle::none, text, 4096), text);
  const std::string out = whole(PrefixStyle::rank, text, 4096);
  EXPECT_EQ(std::count(out.begin(), out.end(), 'x'), std::ssize(text));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
}

TEST(PrefixStyle, HasFourNames) {
  EXPECT_EQ(prefix_style_of("none"), PrefixStyle::none);
  EXPECT_EQ(prefix_style_of("rank"), PrefixStyle::rank);
  EXPECT_EQ(prefix_style_of("horovod"), PrefixStyle::horovod);
  EXPECT_EQ(prefix_style_of("time"), PrefixStyle::time);
  EXPECT_FALSE(prefix_style_of("Rank"));
}

}  // namespace
}  // namespace bp::launcher
