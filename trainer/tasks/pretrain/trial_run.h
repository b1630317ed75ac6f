// Tries an action of a library that may crash.
#pragma once

#include <functional>

namespace bp::trainer {

// Runs `action` in a child process, and returns false if it crashes there or takes a minute. What
// it does has no effect on this process. It must not throw, and must need no other thread. If no
// process can be started, returns true.
[[nodiscard]] bool survives(const std::function<void()>& action);

}  // namespace bp::trainer
