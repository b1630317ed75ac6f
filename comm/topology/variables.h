// Environment variables, and the ones among them that a launcher sets together.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bp {

class Variables {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;

  explicit Variables(Map map) : map_(std::move(map)) {}
  static Variables of_this_process();

  [[nodiscard]] bool has(std::string_view name) const { return map_.contains(name); }
  // Returns the value, or "" if the variable is not set.
  [[nodiscard]] std::string text(std::string_view name) const;

  // Throws invalid_argument: "NAME=value: why", or "NAME why" if the variable is not set.
  [[noreturn]] void refuse(std::string_view name, std::string_view why) const;

 private:
  Map map_;
};

// The variables that a launcher sets together, or not at all. The error about a missing variable
// names `sign`, the variable by which the launcher was recognised, and ends with `advice`.
class Contract {
 public:
  Contract(const Variables& variables, std::string sign, std::string advice);

  [[nodiscard]] const Variables& variables() const { return variables_; }
  // These return the value of a variable, and throw invalid_argument if it is missing or empty, or
  // not a whole number of at least `least`. number() returns nothing if the variable is missing.
  [[nodiscard]] std::string required(std::string_view name) const;
  [[nodiscard]] int required_number(std::string_view name, int least) const;
  [[nodiscard]] std::optional<int> number(std::string_view name, int least) const;

 private:
  const Variables& variables_;  // the caller owns them
  std::string sign_;
  std::string advice_;
};

}  // namespace bp
