// How a program tells bprun, by the job's store, with which arguments it goes on where it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// The key: set by one rank as soon as they are known. bprun's report of a failure shows them.
inline constexpr std::string_view kResumeArguments = "report/resume";

// The value: each argument, followed by NUL.
[[nodiscard]] inline std::string told_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += word + '\0';
  }
  return text;
}

[[nodiscard]] inline std::vector<std::string> words_told(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t end = 0; (end = text.find('\0')) != std::string_view::npos;) {
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return words;
}

}  // namespace bp
