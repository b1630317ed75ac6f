// What an invalid_argument Error says.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "bp/error.h"

namespace bp::test {

// Of the Error that `call` throws; any other code fails the test.
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
