#include "launcher/report/clock_text.h"

#include <time.h>

#include <array>
#include <cstdint>
#include <cstdio>

namespace bp::launcher {
namespace {

template <std::size_t Size, class... Args>
std::string formatted(const char* format, Args... args) {
  std::array<char, Size> text{};
  std::snprintf(text.data(), text.size(), format, args...);
  return text.data();
}

std::string local_time(std::chrono::system_clock::time_point time, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  ::strftime(text.data(), text.size(), format, &parts);
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return text.data() + formatted<8>(".%03d", static_cast<int>(whole % 1000));
}

}  // namespace

std::string clock_time(std::chrono::system_clock::time_point time) {
  return local_time(time, "%H:%M:%S");
}

std::string date_and_time(std::chrono::system_clock::time_point time) {
  return local_time(time, "%Y-%m-%d %H:%M:%S");
}

std::string elapsed_text(std::chrono::milliseconds elapsed) {
  if (elapsed < std::chrono::minutes{1}) {
    return formatted<32>("%.1f s", static_cast<double>(elapsed.count()) / 1000.0);
  }
  const long long seconds = std::chrono::floor<std::chrono::seconds>(elapsed).count();
  return formatted<64>("%02lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string elapsed_text(double seconds) {
  return elapsed_text(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

}  // namespace bp::launcher
