#include "trainer/report/error_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "base/text.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ErrorRows errors_of(std::size_t count) {
  ErrorRows errors{.split = "test", .order = "the highest loss"};
  for (std::size_t i = 0; i < count; ++i) {
    errors.rows.push_back({.text = concat("text number ", i),
                           .answer = "yes",
                           .prediction = "no",
                           .facts = "loss 4.60",
                           .text_id = 7,
                           .sample_id = 9});
  }
  return errors;
}

std::string error_html(const ErrorRows& errors) { return sections_html({error_section(errors)}); }

TEST(ErrorRows, WithoutRowsThereIsNothing) {
  EXPECT_EQ(error_html(errors_of(0)), "");
  EXPECT_EQ(error_lines(errors_of(0)), "");
}

TEST(ErrorRows, NameTextsAnswersAndIds) {
  EXPECT_EQ(error_lines(errors_of(1)),
            "worst rows of test, those with the highest loss\n"
            "  text 7, sample 9: is yes, predicted no; loss 4.60\n"
            "    text number 0\n");
  const std::string section = error_html(errors_of(1));
  EXPECT_THAT(section, HasSubstr("<h2>Worst rows, test split</h2>"));
  EXPECT_THAT(section,
              HasSubstr("<blockquote>text number 0</blockquote><p>is <b>yes</b>, predicted "
                        "<b>no</b>; loss 4.60."));
  EXPECT_THAT(section, Not(HasSubstr("<details>")));
}

TEST(ErrorRows, OfAGoodModelMayAllBeRight) {
  ErrorRows errors = errors_of(2);
  EXPECT_THAT(error_html(errors), HasSubstr("Often they show what is wrong with the data."));
  for (ErrorRow& row : errors.rows) row.prediction = row.answer;
  EXPECT_THAT(error_html(errors), HasSubstr("although all of them are predicted right."));
  EXPECT_THAT(error_html(errors), Not(HasSubstr("Often they show")));
}

TEST(ErrorRows, BehindTheFirstAreFolded) {
  const std::string section = error_html(errors_of(kOpenErrorRows + 3));
  EXPECT_THAT(section, HasSubstr("<summary>3 more</summary>"));
  EXPECT_LT(section.find("text number 4"), section.find("<summary>"));
  EXPECT_GT(section.find("text number 5"), section.find("<summary>"));
  EXPECT_THAT(error_lines(errors_of(kOpenErrorRows + 3)), Not(HasSubstr("text number 5")));
}

// docs/features.md, Evaluation and reports: The worst rows with their texts | `report.html`,
// `bert_train report RUN`
TEST(ErrorRows, ALongTextIsFoldedAndEveryTextEscaped) {
  ErrorRows errors = errors_of(1);
  errors.rows[0].text = "<script>\x1b[31m\n" + std::string(400, 'w') + " end";
  const std::string section = error_html(errors);
  EXPECT_THAT(section, HasSubstr("<blockquote>&lt;script&gt;"));
  EXPECT_THAT(section, HasSubstr("\xE2\x80\xA6<details><summary>whole text</summary>"));
  EXPECT_THAT(section, HasSubstr(" end</details></blockquote>"));
  EXPECT_EQ(section.find('\x1b'), std::string::npos);
  const std::string lines = error_lines(errors);
  EXPECT_THAT(lines, HasSubstr("\n    <script> [31m www"));
  EXPECT_THAT(lines, HasSubstr("w\xE2\x80\xA6\n"));
}

TEST(ErrorRows, WithoutATextHaveOneLine) {
  ErrorRows errors = errors_of(1);
  errors.rows[0].text.clear();
  errors.rows[0].answer.clear();
  EXPECT_EQ(error_lines(errors),
            "worst rows of test, those with the highest loss\n"
            "  text 7, sample 9: is none, predicted no; loss 4.60\n");
  EXPECT_THAT(error_html(errors), Not(HasSubstr("blockquote")));
}

}  // namespace
}  // namespace bp::trainer
