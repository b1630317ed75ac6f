// The time of day, and times for people; those of day are local.
#pragma once

#include <chrono>
#include <string>

namespace bp::launcher {

using WallTime = double;  // seconds since 1970
[[nodiscard]] inline WallTime wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

[[nodiscard]] std::string clock_time(std::chrono::system_clock::time_point time);  // 18:58:39.412
[[nodiscard]] std::string date_and_time(
    std::chrono::system_clock::time_point time);  // 2026-11-20 18:58:39.412
[[nodiscard]] std::string elapsed_text(std::chrono::milliseconds elapsed);  // 0.4 s, 00:12:41
[[nodiscard]] std::string elapsed_text(double seconds);

}  // namespace bp::launcher
