#include "launcher/sweep/trial/metric_line.h"

#include <charconv>
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

namespace bp::launcher::sweep {
namespace {

// Removes the first word of `text` and returns it.
std::string_view take_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r"));
  text.remove_prefix(word.size());
  return word;
}

template <class Number>
std::optional<Number> number_of(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size() ? std::optional(number)
                                                                  : std::nullopt;
}

}  // namespace

std::optional<Report> parse_metric_line(std::string_view line, std::int64_t next_step) {
  constexpr std::string_view kPrefix = "[0] ";
  constexpr std::string_view kMark = "bp: metric ";
  if (line.starts_with(kPrefix)) {
    line.remove_prefix(kPrefix.size());
  }
  if (!line.starts_with(kMark)) {
    return std::nullopt;
  }
  line.remove_prefix(kMark.size());
  const auto value = number_of<double>(take_word(line));
  const std::string_view word = take_word(line);
  const auto step = word.empty() ? std::optional(next_step) : number_of<std::int64_t>(word);
  if (!value || !std::isfinite(*value) || !step || !take_word(line).empty()) {
    return std::nullopt;
  }
  return Report{*step, *value};
}

std::optional<Report> parse_metrics_json(std::string_view line, std::string_view metric) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) {
    return std::nullopt;
  }
  const std::string split = object.value("split", "train");
  if (!metric.starts_with(split) || metric.substr(split.size()).substr(0, 1) != "_") {
    return std::nullopt;
  }
  const std::string key(metric.substr(split.size() + 1));
  if (!object.contains(key) || !object[key].is_number()) {
    return std::nullopt;
  }
  return Report{object["step"].get<std::int64_t>(), object[key].get<double>()};
}

}  // namespace bp::launcher::sweep
