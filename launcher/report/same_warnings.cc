#include "launcher/report/same_warnings.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kFarthest = 300;  // how far into a line the word "warning" may begin

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// bp's log: "18:58:39.412 W rank 3 of 4] text"
bool is_logged_warning(std::string_view line) {
  return line.size() > 15 && is_digit(line[0]) && line[2] == ':' && line[5] == ':' &&
         line.substr(12, 3) == " W ";
}

// glog and LibTorch: "[W1122 18:58:39.412 socket.cpp:200] text"
bool is_glog_warning(std::string_view line) {
  const std::size_t letter = line.starts_with('[') ? 1 : 0;
  return line.size() > letter + 5 && line[letter] == 'W' &&
         std::all_of(line.begin() + static_cast<std::ptrdiff_t>(letter) + 1,
                     line.begin() + static_cast<std::ptrdiff_t>(letter) + 5, is_digit);
}

}  // namespace

std::string_view warning_part(std::string_view line) {
  if (is_logged_warning(line) || is_glog_warning(line)) {
    const std::size_t header = line.find("] ");
    if (header != std::string_view::npos) return line.substr(header + 2);
    return is_logged_warning(line) ? line.substr(15) : line;
  }
  const std::string_view searched = line.substr(0, kFarthest);
  for (const std::string_view word : {"arning", "ARNING"}) {
    const std::size_t at = searched.find(word);
    if (at != std::string_view::npos && at > 0 && (line[at - 1] | 0x20) == 'w') {
      return line.substr(at - 1);
    }
  }
  return "";
}

bool SameWarnings::keep(int rank, std::string_view line, Time now) {
  const std::string_view same = all_ > 1 ? warning_part(line) : "";
  if (same.empty()) {
    return false;
  }
  for (Warning& warning : waiting_) {
    if (warning.same == same && warning.ranks.insert(rank).second) {
      return true;
    }
  }
  if (waiting_.size() == kMostWaiting) {
    return false;
  }
  waiting_.push_back({std::string(line), {rank}, rank, now + kWait, std::string(same)});
  return true;
}

std::optional<SameWarnings::Warning> SameWarnings::next_due(Time now) {
  if (waiting_.empty() || (now < waiting_.front().until && waiting_.front().ranks.size() < all_)) {
    return std::nullopt;
  }
  Warning due = std::move(waiting_.front());
  waiting_.pop_front();
  return due;
}

std::optional<SameWarnings::Time> SameWarnings::next_time() const {
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().until);
}

std::string text_of(const SameWarnings::Warning& warning) {
  const std::size_t count = warning.ranks.size();
  return count == 1 ? warning.line : concat(warning.line, " [x", count, " ranks]");
}

}  // namespace bp::launcher
