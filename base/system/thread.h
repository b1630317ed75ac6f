// Starts the threads of the library.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace bp {

// Debuggers and top show the first 15 characters of `name`. The thread blocks all signals, so those
// sent to the process reach the program's own threads. Throws io if the system allows no more
// threads.
[[nodiscard]] std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace bp
