// How a program tells bprun, by the job's store, with which arguments it resumes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// The key, which one rank sets as soon as it knows, and again when that changes. bprun's report of
// a failure goes by the last value.
inline constexpr std::string_view kResumeArguments = "report/resume";

struct ResumeWords {
  bool saved = false;                     // the program has saved something to resume from
  std::vector<std::string> given = {};    // the program's arguments as it got them
  std::vector<std::string> instead = {};  // those to call it with the next time
};

// The value of the key: words that each end in NUL. First "saved" or "begun", then each word of
// `given` with a "+" before it, then an empty word, then the words of `instead`.
[[nodiscard]] std::string told_words(const ResumeWords& words);
// Parses such a value. Any bytes are valid; fields that are missing at the end become empty.
[[nodiscard]] ResumeWords words_told(std::string_view text);

// `command` with the arguments that were given at its end replaced by the others. Where it does not
// end in them (a script calls the program, say) the command is the one to repeat as it is.
[[nodiscard]] std::vector<std::string> command_instead(const std::vector<std::string>& command,
                                                       const ResumeWords& words);

}  // namespace bp
