#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "launcher/report/line_assembler.h"
#include "launcher/report/line_prefix.h"

namespace bp::launcher {
namespace {

using Time = LineAssembler::Time;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// Collects what the terminal shows of one stream, with a '|' after each line.
class Screen {
 public:
  explicit Screen(LineMode mode) : lines_(mode) {}
  void feed(std::string_view text, Time now = {}) { lines_.feed(text, now, show_); }
  void finish() { lines_.finish(show_); }
  [[nodiscard]] std::string_view live() const { return lines_.live_text(); }

  std::string shown;

 private:
  LineAssembler lines_;
  LineAssembler::Show show_ = [this](std::string_view line) { shown.append(line).append("|"); };
};

std::string whole(const std::string& text, std::size_t step = 1U << 30U) {
  Screen screen(LineMode::live);
  for (std::size_t at = 0; at < text.size(); at += step) {
    screen.feed(std::string_view(text).substr(at, step));
  }
  screen.finish();
  return screen.shown;
}

std::string bytes(const std::string& text, std::size_t step = 1U << 30U) {
  std::string out;
  LineAssembler pieces(LineMode::bytes);
  const LineAssembler::Show show = [&out](std::string_view piece) { out += piece; };
  for (std::size_t at = 0; at < text.size(); at += step) {
    pieces.feed(std::string_view(text).substr(at, step), {}, show);
  }
  pieces.finish(show);
  return out;
}

TEST(LineAssembler, KeepsBlankAndUnterminatedLines) {
  EXPECT_EQ(whole("a\nb\n"), "a|b|");
  EXPECT_EQ(whole("\n\na"), "||a|");
  EXPECT_EQ(bytes("\n\na"), "\n\na") << "LineMode::bytes changes nothing";
  EXPECT_EQ(whole(""), "");
}

TEST(LineAssembler, HoldsBackAnIncompleteLine) {
  Screen screen(LineMode::lines);
  screen.feed("half");
  EXPECT_EQ(screen.shown, "");
  screen.feed(" and half\nrest");
  EXPECT_EQ(screen.shown, "half and half|");
}

TEST(LineAssembler, ShowsOnlyTheLastStateOfARedrawnLine) {
  EXPECT_EQ(whole("10%\r20%\r30%\n"), "30%|");
  EXPECT_EQ(whole("\r10%\r20%\n"), "20%|");
  EXPECT_EQ(whole("10%\r20%\r"), "20%\r|");
  EXPECT_EQ(whole("dos\r\nlines\r\n"), "dos\r|lines\r|");
  EXPECT_EQ(whole("\r\n"), "\r|");
  EXPECT_EQ(bytes("10%\r20%\r\n"), "10%\r20%\r\n");
}

// bert_train clears its progress bar in this way to print another line.
TEST(LineAssembler, ShowsNothingOfClearedLines) {
  EXPECT_EQ(whole("[=>  ] 1\r\x1b[K[==> ] 2\r\x1b[Ksaved\n[===>] 3\n"), "saved|[===>] 3|");
  EXPECT_EQ(whole("[=>  ]\r\x1b[K"), "") << "a cleared line must show nothing";
  EXPECT_EQ(whole("1\r\x1b[2K2\n"), "2|");
}

TEST(LineAssembler, ShowsProgressAtMostOnceASecond) {
  Screen screen(LineMode::lines);
  screen.feed("1%\r2%");
  EXPECT_EQ(screen.shown, "1%|");
  screen.feed("\r3%\r4%", Time{} + 999ms);
  EXPECT_EQ(screen.shown, "1%|");
  screen.feed("\r5%", Time{} + 1s);
  EXPECT_EQ(screen.shown, "1%|4%|");
  screen.feed("\rdone\n", Time{} + 1s);
  EXPECT_EQ(screen.shown, "1%|4%|done|");
}

TEST(LineAssembler, KnowsTheTextOfALiveLine) {
  Screen screen(LineMode::live);
  screen.feed("no bar\nstarting");
  EXPECT_EQ(screen.live(), "") << "the line has not been redrawn";
  screen.feed("\r10%");
  EXPECT_EQ(screen.live(), "10%");
  screen.feed(" of it\r\x1b[K20%");
  EXPECT_EQ(screen.live(), "20%");
  screen.feed("\r30%\r");
  EXPECT_EQ(screen.live(), "30%") << "the cursor is at the start of a drawn line";
  screen.feed("\r\x1b[K");
  EXPECT_EQ(screen.live(), "");
  screen.feed("saved\n");
  EXPECT_EQ(screen.live(), "");
  EXPECT_EQ(screen.shown, "no bar|saved|");
}

TEST(LineAssembler, DoesNotDependOnTheSlicing) {
  std::string text;
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    text += std::string_view("ab\n\xc3\xa4\r\n")[random() % 7];
  }
  for (std::size_t step = 1; step < 40; ++step) {
    EXPECT_EQ(whole(text, step), whole(text)) << step;
    EXPECT_EQ(bytes(text, step), text) << step;
  }
}

TEST(LineAssembler, CutsAnEndlessLineBetweenCharacters) {
  std::string text(3 * LineAssembler::kMaxLine, 'x');
  EXPECT_EQ(bytes(text, 4096), text);
  const std::string out = whole(text, 4096);
  EXPECT_EQ(std::count(out.begin(), out.end(), 'x'), std::ssize(text));
  EXPECT_EQ(std::count(out.begin(), out.end(), '|'), 3);
  for (const std::string character : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (std::size_t before = 0; before < character.size(); ++before) {
      text.assign(before, 'x');
      while (text.size() < LineAssembler::kMaxLine + 5000) text += character;
      const std::string cut = whole(text, 997);
      const std::size_t at = cut.find('|');
      EXPECT_EQ((at - before) % character.size(), 0U) << before;
      EXPECT_TRUE(cut.substr(0, at) + cut.substr(at + 1) == text + "|") << before;
    }
  }
}

TEST(LinePrefix, NamesTheRankInFourStyles) {
  const auto prefix = [](PrefixStyle style, bool colours) {
    std::string text;
    make_prefix(style, 3, Stream::err, colours).add_to(text, Time{});
    return text;
  };
  EXPECT_EQ(prefix(PrefixStyle::rank, false), "[3] ");
  EXPECT_EQ(prefix(PrefixStyle::horovod, false), "[3]<stderr>:");
  EXPECT_EQ(prefix(PrefixStyle::none, true), "");
  EXPECT_EQ(prefix(PrefixStyle::time, false).substr(8), ".000 [3] ");
  EXPECT_EQ(prefix(PrefixStyle::rank, true), "\x1b[34m[3]\x1b[0m ");
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
