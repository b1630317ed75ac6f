#include "trainer/commands/extension_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Extensions& extensions) {
  try {
    check(extensions);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ExtensionCheck, RefusesNamesThatAreInvalidOrTaken) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.models = {{.name = "slim"}}}), "");
  EXPECT_THAT(refusal({.models = {{.name = "tiny"}}}), HasSubstr("two models are called 'tiny'"));
  EXPECT_THAT(refusal({.models = {{.name = ""}}}), HasSubstr("the model '' needs a name of small"));
  EXPECT_THAT(refusal({.schedules = {{"Root", {}}}}),
              HasSubstr("the schedule 'Root' needs a name of small"));
  EXPECT_THAT(refusal({.schedules = {{"one", {}}, {"one", {}}}}),
              HasSubstr("two schedules are called 'one'"));
}

}  // namespace
}  // namespace bp::trainer
