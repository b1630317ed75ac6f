// Equal warnings of several ranks, lists of ranks, and what a terminal shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "bp/error.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/report/same_warnings.h"
#include "launcher/report/terminal.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

SameWarnings::Time at(int ms) { return SameWarnings::Time{} + std::chrono::milliseconds(ms); }

TEST(SameWarnings, OfAllRanksAreShownAtOnceAndOnce) {
  SameWarnings warnings(3);
  EXPECT_TRUE(warnings.keep(1, "a.py:3: UserWarning: old", at(0)));
  EXPECT_TRUE(warnings.keep(0, "b.py:3: UserWarning: old", at(1)));
  EXPECT_FALSE(warnings.next_due(at(2)));
  EXPECT_TRUE(warnings.keep(2, "a.py:3: UserWarning: old", at(2)));
  const auto due = warnings.next_due(at(2));
  ASSERT_TRUE(due);
  EXPECT_EQ(due->first, 1);
  EXPECT_EQ(text_of(*due), "a.py:3: UserWarning: old [x3 ranks]");
  EXPECT_TRUE(warnings.empty());
}

TEST(SameWarnings, OfSomeRanksAreShownAfterADelay) {
  SameWarnings warnings(4);
  EXPECT_TRUE(warnings.keep(2, "warning: one", at(0)));
  EXPECT_TRUE(warnings.keep(3, "warning: one", at(10)));
  EXPECT_TRUE(warnings.keep(3, "WARNING: two", at(20)));
  EXPECT_EQ(warnings.next_time(), at(250));
  EXPECT_FALSE(warnings.next_due(at(249)));
  EXPECT_EQ(text_of(*warnings.next_due(at(250))), "warning: one [x2 ranks]");
  EXPECT_EQ(text_of(*warnings.next_due(at(270))), "WARNING: two");
}

TEST(SameWarnings, RepeatedOnesOfARankAreAllShown) {
  SameWarnings warnings(2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(warnings.keep(0, "warning: again", at(0)));
  }
  EXPECT_TRUE(warnings.keep(1, "warning: again", at(1)));
  EXPECT_EQ(text_of(*warnings.next_due(at(1))), "warning: again [x2 ranks]");
  EXPECT_EQ(text_of(*warnings.next_due(at(300))), "warning: again");
  EXPECT_EQ(text_of(*warnings.next_due(at(300))), "warning: again");
}

TEST(SameWarnings, KeepOnlyWarningsAndALimitedNumber) {
  SameWarnings alone(1);
  EXPECT_FALSE(alone.keep(0, "warning: nobody else can say it", at(0)));
  SameWarnings warnings(2);
  EXPECT_FALSE(warnings.keep(0, "all is well", at(0)));
  for (std::size_t i = 0; i < SameWarnings::kMostWaiting; ++i) {
    EXPECT_TRUE(warnings.keep(0, "warning " + std::to_string(i), at(0)));
  }
  EXPECT_FALSE(warnings.keep(0, "warning: one too many", at(0)));
}

TEST(SameWarnings, ComparesWhatDoesNotDependOnTheRank) {
  EXPECT_EQ(warning_part("18:58:39.412 W rank 3 of 4] it is slow"), "it is slow");
  EXPECT_EQ(warning_part("18:58:39.412 W it is slow"), "it is slow");
  EXPECT_EQ(warning_part("18:58:39.412 I it is fast"), "");
  EXPECT_EQ(warning_part("[W1122 18:58:39.412 socket.cpp:200] no v6"), "no v6");
  EXPECT_EQ(warning_part("W1122 18:58:39.412 77 socket.cpp:200] no v6"), "no v6");
  EXPECT_EQ(warning_part("/x/a.py:12: DeprecationWarning: old"), "Warning: old");
  EXPECT_EQ(warning_part("  warnings.warn(text)"), "warnings.warn(text)");
  EXPECT_EQ(warning_part("learning 1"), "");
  EXPECT_EQ(warning_part("arning"), "");
  EXPECT_EQ(warning_part("W1122 late"), "W1122 late")
      << "the line is not a log header, and shorter than bp's";
  EXPECT_EQ(warning_part("[W1122 "), "[W1122 ");
}

TEST(RankList, IsReadInAnyOrder) {
  EXPECT_THAT(parse_rank_list("0,2-3", "-x"), ElementsAre(0, 2, 3));
  EXPECT_THAT(parse_rank_list("7,1-2,2", "-x"), ElementsAre(1, 2, 7));
  EXPECT_EQ(rank_ranges(parse_rank_list("0-2,5,7-9", "-x")), "0-2,5,7-9");
}

TEST(RankList, RefusesMalformedLists) {
  for (const char* text :
       {"", ",", "1,", "3-1", "-1", "1-", "a", "1 ", "0x1", "99999999999", "1,,2"}) {
    try {
      (void)parse_rank_list(text, "--show-ranks");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                std::string("--show-ranks must be ranks such as 0,2-3, not '") + text + "'");
    }
  }
}

TEST(Terminal, ALineIsCutToFit) {
  EXPECT_EQ(fit_line("abcdef", 4), "abcd");
  EXPECT_EQ(fit_line("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80x", 3),
            "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(fit_line("\x1b[31mred\x1b[0m \x1b[2Kx\ty", 80), "red x y");
  EXPECT_EQ(fit_line("cut \x1b[3", 80), "cut ");
  EXPECT_EQ(fit_line("cut \x1b", 80), "cut ");
  EXPECT_EQ(fit_line("", 0), "");
}

TEST(Terminal, ColoursAreForTerminalsByDefault) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(wants_colours(ColourChoice::automatic, ends[1]));
  EXPECT_TRUE(wants_colours(ColourChoice::always, ends[1]));
  EXPECT_FALSE(wants_colours(ColourChoice::never, ends[1]));
  EXPECT_EQ(columns_of(ends[1]), 80);
  ::close(ends[0]);
  ::close(ends[1]);

  const int terminal = ::posix_openpt(2);  // O_RDWR
  ASSERT_GE(terminal, 0);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(wants_colours(ColourChoice::automatic, terminal));
  EXPECT_FALSE(wants_colours(ColourChoice::never, terminal));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_colours(ColourChoice::automatic, terminal));
  EXPECT_TRUE(can_redraw(terminal));
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(can_redraw(terminal));
  ::close(terminal);
}

}  // namespace
}  // namespace bp::launcher
