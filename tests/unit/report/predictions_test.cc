// predictions.csv and predictions as lines of JSON.
#include "trainer/report/predictions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/report/report_table.h"
#include "bp/error.h"
#include "tests/support/scratch.h"

namespace bp::trainer {
namespace {

class PredictionsFile : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return scratch_.path(name); }

  Scratch scratch_;
};

// docs/features.md, Evaluation and reports: A file of predictions | `predictions.csv`
TEST_F(PredictionsFile, AreAsDocumented) {
  const std::string first[] = {"so, so", "said \"no\"", probability_text(0.25)};
  const std::string second[] = {"", "so, so", probability_text(1e-9)};
  PredictionsWriter writer(path("p.csv"), {{"label"}, {"prediction"}, {"p_so, so", true}});
  writer.add({.sample_id = 7, .text_id = 3, .fields = first});
  writer.add({.sample_id = 9, .text_id = 3, .fields = second});
  EXPECT_FALSE(std::filesystem::exists(path("p.csv")));
  writer.finish();
  EXPECT_EQ(read_file(path("p.csv")),
            "sample_id,text_id,label,prediction,\"p_so, so\"\n"
            "7,3,\"so, so\",\"said \"\"no\"\"\",0.250000\n"
            "9,3,,\"so, so\",0.000000\n");
}

TEST_F(PredictionsFile, AsJsonLinesHaveNumbersWithoutQuotes) {
  const PredictionLines lines(PredictionFormat::jsonl, {{"label"}, {"p_\"a\"", true}, {"b", true}});
  EXPECT_EQ(lines.header(), "");
  const std::string fields[] = {"so, \"so\"\n\xFF", probability_text(0.25), ""};
  EXPECT_EQ(lines.line({.sample_id = 7, .text_id = 3, .fields = fields}),
            "{\"sample_id\": 7, \"text_id\": 3, \"label\": \"so, \\\"so\\\"\\n\uFFFD\", "
            "\"p_\\\"a\\\"\": 0.250000, \"b\": null}\n");
}

TEST_F(PredictionsFile, RefuseRowsOutOfOrderAndLeaveNoFile) {
  {
    const std::string fields[] = {"a", "b"};
    PredictionsWriter writer(path("p.csv"), {{"label"}, {"prediction"}});
    writer.add({.sample_id = 4, .fields = fields});
    try {
      writer.add({.sample_id = 4, .fields = fields});
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(
          error.what(),
          "prediction of sample 4 after that of sample 4: each sample must be added once, in "
          "order");
    }
    EXPECT_THROW(writer.add({.sample_id = 5, .fields = {}}), Error);
  }
  EXPECT_TRUE(scratch_.names().empty());
}

TEST(Csv, QuotesFieldsThatNeedIt) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("\""), "\"\"\"\"");
}

}  // namespace
}  // namespace bp::trainer
