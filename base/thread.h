// Threads of the library.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace bp {

// `name` shows up in debuggers and top (its first 15 characters). Signals sent to the process are
// left to the program's own threads. Throws io where the system allows no more threads.
[[nodiscard]] std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace bp
