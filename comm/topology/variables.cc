#include "comm/topology/variables.h"

#include <unistd.h>

#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {

Variables Variables::of_this_process() {
  Map map;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    map.emplace(line.substr(0, equals), line.substr(equals + 1));  // keeps the first, as getenv
  }
  return Variables(std::move(map));
}

std::string Variables::text(std::string_view name) const {
  const auto found = map_.find(name);
  return found == map_.end() ? std::string() : found->second;
}

void Variables::refuse(std::string_view name, std::string_view why) const {
  throw Error(ErrorCode::invalid_argument,
              has(name) ? concat(name, "=", text(name), ": ", why) : concat(name, " ", why));
}

Contract::Contract(const Variables& variables, std::string sign, std::string advice)
    : variables_(variables), sign_(std::move(sign)), advice_(std::move(advice)) {}

std::string Contract::required(std::string_view name) const {
  if (!variables_.has(name)) {
    variables_.refuse(name, concat("is not set, but ", sign_, " is: ", advice_));
  }
  std::string value = variables_.text(name);
  if (value.empty()) variables_.refuse(name, "is empty");
  return value;
}

int Contract::required_number(std::string_view name, int least) const {
  int number = 0;
  if (!read_number(required(name), number) || number < least) {
    variables_.refuse(name, concat("is not a whole number of at least ", least));
  }
  return number;
}

std::optional<int> Contract::number(std::string_view name, int least) const {
  if (!variables_.has(name)) return std::nullopt;
  return required_number(name, least);
}

}  // namespace bp
