// Returns the InputError that `action` throws as "code: text | hint".
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/input_error.h"
#include "base/text.h"

namespace bp::trainer::test {

template <class Action>
std::string input_refusal(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return concat(error.exit_code(), ": ", error.what(), " | ", error.hint());
  }
  ADD_FAILURE() << "the action threw no InputError";
  return "";
}

}  // namespace bp::trainer::test
