// docs/acceptance.md, Data: Doubtful data are remarked on: labels with blanks or decimals, equal
// texts in train and test.
#include <gtest/gtest.h>

#include "trainer/common/numbers.h"
#include "trainer/tasks/classify/label_naming.h"

namespace bp::trainer {
namespace {

TEST(LabelForm, TrimsBlanksOfEveryKind) {
  EXPECT_EQ(without_blanks(" \t pos\xC2\xA0\r\n"), "pos");
  EXPECT_EQ(without_blanks("so so"), "so so");
  EXPECT_EQ(without_blanks("\xC2\xA0 "), "");
  EXPECT_EQ(without_blanks("caf\xC3\xA0"), "caf\xC3\xA0") << "the byte A0 is a blank only after C2";
  EXPECT_EQ(formed_label(" pos ", {}), " pos ");
  EXPECT_EQ(formed_label(" pos ", {.trim = true}), "pos");
}

TEST(LabelForm, RoundsNumbersHalvesAwayFromZero) {
  const auto rounded = [](const char* label) { return formed_label(label, {.round = true}); };
  EXPECT_EQ(rounded("3.4999"), "3");
  EXPECT_EQ(rounded("2.5"), "3");
  EXPECT_EQ(rounded("-2.5"), "-3");
  EXPECT_EQ(rounded("-0.2"), "0");
  EXPECT_EQ(rounded(" 4,5 "), "5") << "4,5 has a decimal comma";
  EXPECT_EQ(rounded("1e3"), "1000");
  EXPECT_EQ(rounded(""), "");
  EXPECT_EQ(rounded("good"), std::nullopt);
  EXPECT_EQ(rounded("1,234.5"), std::nullopt);
  EXPECT_EQ(rounded("1e300"), std::nullopt);
}

}  // namespace
}  // namespace bp::trainer
