// A program tells bprun through the job's store which arguments resume it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// The key. One rank sets it as soon as it knows the arguments, and again when they change. bprun's
// report of a failure uses the last value.
inline constexpr std::string_view kResumeArguments = "report/resume";

struct ResumeWords {
  bool saved = false;                     // the program has saved something to resume from
  std::vector<std::string> given = {};    // the arguments that the program was called with
  std::vector<std::string> instead = {};  // the arguments to call it with the next time
};

// Returns the value of the key: words that each end in NUL. First comes "saved" or "begun", then
// each word of `given` with a "+" before it, then an empty word, then the words of `instead`.
[[nodiscard]] std::string told_words(const ResumeWords& words);
// Parses such a value. Any bytes are valid; what is missing at the end stays empty.
[[nodiscard]] ResumeWords words_told(std::string_view text);

// Returns `command` with `given`, at its end, replaced by `instead`. If it does not end in `given`
// (because a script calls the program, for example), returns it unchanged.
[[nodiscard]] std::vector<std::string> command_instead(const std::vector<std::string>& command,
                                                       const ResumeWords& words);

}  // namespace bp
