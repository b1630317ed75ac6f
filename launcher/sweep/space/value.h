// A value of a parameter, and the parameters of a trial.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bp::launcher::sweep {

class Value {
 public:
  enum class Kind : std::uint8_t { boolean, integer, real, text };

  Value() = default;  // the empty text
  [[nodiscard]] static Value of_boolean(bool value);
  [[nodiscard]] static Value of_integer(std::int64_t value);
  // The text is the shortest one that gives the same double again.
  [[nodiscard]] static Value of_real(double value);
  [[nodiscard]] static Value of_text(std::string text);
  // Returns what a YAML scalar without quotes means: true, 3, 1e-5 (whose text stays as it is
  // written) or a text.
  [[nodiscard]] static Value of_scalar(std::string text);

  [[nodiscard]] Kind kind() const { return kind_; }
  // As it stands on the command line; "true" or "false" for a boolean.
  [[nodiscard]] const std::string& text() const { return text_; }
  // Of integer and real; 1 and 0 for a boolean, 0 for a text.
  [[nodiscard]] double number() const { return number_; }
  [[nodiscard]] bool is_number() const { return kind_ == Kind::integer || kind_ == Kind::real; }

  // 1e-5 and 0.00001 are equal; 1 and the text "1" are not.
  friend bool operator==(const Value& a, const Value& b);

 private:
  Value(Kind kind, std::string text, double number)
      : kind_(kind), text_(std::move(text)), number_(number) {}

  Kind kind_ = Kind::text;
  std::string text_;
  double number_ = 0;
};

// "b", "i", "r" or "t", for files; value_of() makes the same value of it and the text. Throws
// invalid_argument for another letter, or a text that is not of the kind.
[[nodiscard]] std::string kind_letter(const Value& value);
[[nodiscard]] Value value_of(std::string_view kind_letter, std::string text);

// Name and value in the order of SPACE. A parameter that a `when` excludes is missing.
using Parameters = std::vector<std::pair<std::string, Value>>;

// Returns nullptr if there is none.
[[nodiscard]] const Value* find_value(const Parameters& parameters, std::string_view name);

// "lr=3e-05 batch=8", for people
[[nodiscard]] std::string shown(const Parameters& parameters);

}  // namespace bp::launcher::sweep
