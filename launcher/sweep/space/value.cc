#include "launcher/sweep/space/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/joined.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher::sweep {
namespace {

// YAML allows a plus, number_in() does not.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  return number_in<Number>(text.starts_with('+') ? text.substr(1) : text);
}

}  // namespace

Value Value::of_boolean(bool value) {
  return {Kind::boolean, value ? "true" : "false", value ? 1.0 : 0.0};
}

Value Value::of_integer(std::int64_t value) {
  return {Kind::integer, std::to_string(value), static_cast<double>(value)};
}

Value Value::of_real(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  return {Kind::real, std::string(text.begin(), end), value};
}

Value Value::of_text(std::string text) { return {Kind::text, std::move(text), 0}; }

Value Value::of_scalar(std::string text) {
  if (text == "true" || text == "false") return of_boolean(text == "true");
  if (const auto number = whole_number<std::int64_t>(text)) {
    return {Kind::integer, std::move(text), static_cast<double>(*number)};
  }
  const auto number = whole_number<double>(text);
  if (number && std::isfinite(*number)) return {Kind::real, std::move(text), *number};
  return of_text(std::move(text));
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.number_ == b.number_;
  return a.kind_ == b.kind_ && a.text_ == b.text_;
}

std::string kind_letter(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::boolean:
      return "b";
    case Value::Kind::integer:
      return "i";
    case Value::Kind::real:
      return "r";
    case Value::Kind::text:
      break;
  }
  return "t";
}

Value value_of(std::string_view kind, std::string text) {
  if (kind == "t") return Value::of_text(std::move(text));
  Value value = Value::of_scalar(text);
  if (kind == "r" && value.kind() == Value::Kind::integer) value = Value::of_real(value.number());
  if (kind_letter(value) != kind) {
    throw Error(ErrorCode::invalid_argument, concat("'", text, "' is not a value of kind ", kind));
  }
  return value;
}

const Value* find_value(const Parameters& parameters, std::string_view name) {
  for (const auto& [own, value] : parameters) {
    if (own == name) return &value;
  }
  return nullptr;
}

std::string shown(const Parameters& parameters) {
  return joined(parameters, " ", [](const auto& parameter) {
    return concat(parameter.first, "=", parameter.second.text());
  });
}

}  // namespace bp::launcher::sweep
