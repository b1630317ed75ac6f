// docs/acceptance.md, Training: What is wrong with an added task, model, optimizer or schedule is
// named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"
#include "trainer/commands/answer.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

std::string error_of(const Extensions& extensions) {
  try {
    check(extensions);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ExtensionCheck, RefusesNamesThatAreInvalidOrTaken) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_EQ(error_of({.models = {{.name = "slim"}}}), "");
  EXPECT_THAT(error_of({.models = {{.name = "tiny"}}}), HasSubstr("two models are called 'tiny'"));
  EXPECT_THAT(error_of({.models = {{.name = ""}}}),
              HasSubstr("the model '' needs a name of small"));
  EXPECT_THAT(error_of({.schedules = {{"Root", {}}}}),
              HasSubstr("the schedule 'Root' needs a name of small"));
  EXPECT_THAT(error_of({.schedules = {{"one", {}}, {"one", {}}}}),
              HasSubstr("two schedules are called 'one'"));
}

}  // namespace
}  // namespace bp::trainer
