// Returns the text of the Error that `body` throws.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "bp/error.h"

namespace bp::trainer::test {

template <class Body>
std::string refusal(const Body& body, ErrorCode code = ErrorCode::invalid_argument) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "the body threw no Error";
  return "";
}

}  // namespace bp::trainer::test
