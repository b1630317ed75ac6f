// expect_input_error(65, "text", "hint", [&] { ... }) expects an InputError with this exit code
// whose message and hint contain these texts.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/input_error.h"

namespace bp::trainer {

template <class Action>
void expect_input_error(int exit_code,
                        const std::string& text,
                        const std::string& hint,
                        const Action& action) {
  try {
    action();
    ADD_FAILURE() << "no error, but one was expected: " << text;
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), exit_code) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
    EXPECT_THAT(error.hint(), testing::HasSubstr(hint));
  }
}

}  // namespace bp::trainer
