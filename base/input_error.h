// An error in a user's input: one line that says what is wrong and where, and a hint that says how
// to fix it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace bp {

class InputError : public std::runtime_error {
 public:
  // The exit codes are those of the programs' documentation: 2 for options or columns, 65 for bad
  // content, 66 for a missing or unreadable file, 77 for a model that is not to be trained.
  InputError(int exit_code, const std::string& text, std::string hint)
      : std::runtime_error(text), exit_code_(exit_code), hint_(std::move(hint)) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  int exit_code_;
  std::string hint_;
};

}  // namespace bp
