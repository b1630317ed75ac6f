// Returns the text of an invalid_argument Error.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "bp/error.h"

namespace bp::test {

// Returns the text of the Error that `call` throws, or "no error". Any other code fails the test.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

}  // namespace bp::test
