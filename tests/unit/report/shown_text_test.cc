#include "trainer/report/shown_text.h"

#include <gtest/gtest.h>

#include <string>

namespace bp::trainer {
namespace {

using std::chrono::seconds;

TEST(ShownText, EscapesHtmlMarkup) {
  EXPECT_EQ(html("</script><b a=\"1\" c='2'>&amp;"),
            "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  EXPECT_EQ(html("tab\tline\n\x01\x7F"), "tab\tline\n\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ShownText, ReplacesInvalidUtf8) {
  EXPECT_EQ(html("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(repaired_utf8("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(repaired_utf8("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(repaired_utf8(""), "");
}

TEST(ShownText, CutsBetweenCodePoints) {
  EXPECT_EQ(shortened("h\xC3\xA9llo", 5), "h\xC3\xA9llo");
  EXPECT_EQ(shortened("h\xC3\xA9llo", 3), "h\xC3\xA9\xE2\x80\xA6");
  EXPECT_EQ(code_points("h\xC3\xA9llo"), 5U);
}

TEST(ShownText, WritesNumbersForPeople) {
  EXPECT_EQ(clock_text(seconds(7)), "0:07");
  EXPECT_EQ(clock_text(seconds(72)), "1:12");
  EXPECT_EQ(clock_text(seconds(7533)), "2:05:33");
  EXPECT_EQ(clock_text(seconds(-1)), "0:00");
  EXPECT_EQ(rate_text(1234567.8), "1,234,568");
  EXPECT_EQ(rate_text(999.6), "1,000");
  EXPECT_EQ(rate_text(7.36), "7.4");
  EXPECT_EQ(rate_text(0.0421), "0.042");
  EXPECT_EQ(brief(123456), "123456");
  EXPECT_EQ(brief(0.123456), "0.1235");
}

}  // namespace
}  // namespace bp::trainer
