// The variables of a process, from which a launcher's contract is read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace bp {

class Variables {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;

  explicit Variables(Map map) : map_(std::move(map)) {}
  static Variables of_this_process();

  [[nodiscard]] bool has(std::string_view name) const { return map_.contains(name); }
  // Empty where it is not set.
  [[nodiscard]] std::string text(std::string_view name) const;

  // Throws invalid_argument: "NAME=value: why", or "NAME why" where it is not set.
  [[noreturn]] void refuse(std::string_view name, std::string_view why) const;

 private:
  Map map_;
};

// What one launcher sets together, or not at all. Of a variable that is missing the text says by
// which other one, `sign`, the launcher was found, and `advice` what to do.
class Contract {
 public:
  Contract(const Variables& variables, std::string sign, std::string advice);

  [[nodiscard]] const Variables& variables() const { return variables_; }
  [[nodiscard]] std::string required(std::string_view name) const;  // set and not empty
  [[nodiscard]] int required_number(std::string_view name, int least) const;
  [[nodiscard]] std::optional<int> number(std::string_view name, int least) const;

 private:
  const Variables& variables_;  // the caller's
  std::string sign_;
  std::string advice_;
};

}  // namespace bp
