// Returns the text of the Error that a call throws.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
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

// Returns "code: text" of the Error that `call` throws, or "no error".
template <class Call>
std::string error_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    return concat(name_of(error.code()), ": ", error.what());
  }
  return "no error";
}

}  // namespace bp::test
