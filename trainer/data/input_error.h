// What is wrong with what a user gave us: one line that names the place, one that says the mend.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace bp::trainer {

class InputError : public std::runtime_error {
 public:
  // Exit codes as documented for bert_train: 2 options or columns, 65 bad content, 66 not found or
  // unreadable.
  InputError(int exit_code, const std::string& text, std::string hint)
      : std::runtime_error(text), exit_code_(exit_code), hint_(std::move(hint)) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  int exit_code_;
  std::string hint_;
};

}  // namespace bp::trainer
