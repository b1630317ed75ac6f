// An InputError about one row.
#pragma once

#include "base/input_error.h"

namespace bp::trainer {

// Its reader can go on behind the row.
class BadRow : public InputError {
 public:
  explicit BadRow(const InputError& error) : InputError(error) {}
};

}  // namespace bp::trainer
