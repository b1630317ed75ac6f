// How a function shows its progress to the user, if its caller lets it.
#pragma once

#include <functional>
#include <string>

namespace bp::trainer {

// Gets one line of text, without a newline at its end.
using Say = std::function<void(const std::string&)>;

}  // namespace bp::trainer
