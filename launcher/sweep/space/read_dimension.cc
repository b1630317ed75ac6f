#include "launcher/sweep/space/read_dimension.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace bp::launcher::sweep {
namespace {

std::vector<Value> read_values(const YamlNode& list) {
  if (!list.node.IsSequence()) return {list.value()};
  std::vector<Value> values;
  for (const YamlNode& element : list.elements()) {
    values.push_back(element.value());
    if (std::count(values.begin(), values.end(), values.back()) > 1) {
      element.refuse(concat("'", list.key, "' has the value ", values.back().text(), " twice"));
    }
  }
  if (values.empty()) list.refuse(concat("'", list.key, "' has no values, so there is no trial"));
  return values;
}

void set_choice(Dimension& dimension, const YamlNode& list) {
  for (Value& value : read_values(list)) dimension.rows.push_back({std::move(value)});
}

void set_range(Dimension& dimension, const YamlNode& numbers, const std::vector<YamlNode>& parts) {
  dimension.step = parts.at(2).number();
  if (dimension.step <= 0) numbers.refuse("the step of a range must be above 0");
  dimension.whole = std::all_of(parts.begin(), parts.end(), [](const YamlNode& part) {
    return part.value().kind() == Value::Kind::integer;
  });
  if ((dimension.high - dimension.low) / dimension.step > 1e6) {
    numbers.refuse("a range has at most 1,000,000 values; use a larger step, or uniform");
  }
}

void set_numbers(Dimension& dimension, const YamlNode& numbers) {
  const auto parts = numbers.elements();
  const bool range = dimension.kind == Dimension::Kind::range;
  if (parts.size() != (range ? 3 : 2)) {
    numbers.refuse(range ? "range must be [low, high, step]"
                         : concat(numbers.key, " must be [low, high]"));
  }
  const bool integer = dimension.kind == Dimension::Kind::integer;
  dimension.low = integer ? static_cast<double>(parts[0].whole(-(1LL << 53))) : parts[0].number();
  dimension.high = integer ? static_cast<double>(parts[1].whole(-(1LL << 53))) : parts[1].number();
  if (dimension.low > dimension.high) {
    numbers.refuse(
        concat(parts[0].text(), " is above ", parts[1].text(), ", so there is no value"));
  }
  if (range) set_range(dimension, numbers, parts);
  if (dimension.kind == Dimension::Kind::loguniform && dimension.low <= 0) {
    numbers.refuse("loguniform needs numbers above 0");
  }
  if (!std::isfinite(dimension.high - dimension.low)) numbers.refuse("these numbers are too large");
}

// A condition holds for some of the values that the other parameter can have.
void check_possible(const YamlNode& entry, const Dimension& other, const Condition& condition) {
  if (other.size() == 0) return;
  const auto column = static_cast<std::size_t>(
      std::find(other.names.begin(), other.names.end(), condition.name) - other.names.begin());
  for (const Value& value : condition.values) {
    bool possible = false;
    for (std::size_t i = 0; i < other.size() && !possible; ++i) {
      possible = other.values(i).at(column) == value;
    }
    if (!possible) entry.refuse(concat("'", condition.name, "' never is ", value.text()));
  }
}

// Whether `name` depends on `other`, directly or not.
bool depends_on(const Block& block, const std::string& name, const std::string& other) {
  const auto found = block.when.find(name);
  if (found == block.when.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Condition& condition) {
    return condition.name == other || depends_on(block, condition.name, other);
  });
}

}  // namespace

Dimension read_parameter(const YamlNode& entry) {
  Dimension dimension;
  dimension.names = {entry.key};
  dimension.line = entry.line;
  if (!entry.node.IsMap()) {
    set_choice(dimension, entry);
    return dimension;
  }
  const auto parts = entry.entries({"choice", "range", "uniform", "loguniform", "int"});
  if (parts.size() != 1) {
    entry.refuse(concat("'", entry.key, "' must have one of choice, range, uniform, ...: ",
                        parts.empty() ? "none is" : "two are", " given"));
  }
  const std::string& kind = parts[0].key;
  if (kind == "choice") {
    set_choice(dimension, parts[0]);
    return dimension;
  }
  dimension.kind = kind == "range"        ? Dimension::Kind::range
                   : kind == "uniform"    ? Dimension::Kind::uniform
                   : kind == "loguniform" ? Dimension::Kind::loguniform
                                          : Dimension::Kind::integer;
  set_numbers(dimension, parts[0]);
  return dimension;
}

Dimension read_zip(const YamlNode& group) {
  Dimension dimension;
  dimension.line = group.line;
  for (const YamlNode& entry : group.entries()) {
    dimension.names.push_back(entry.key);
    const auto elements = entry.elements();
    if (elements.empty()) entry.refuse(concat("'", entry.key, "' has no values"));
    if (dimension.names.size() == 1) dimension.rows.resize(elements.size());
    if (elements.size() != dimension.rows.size()) {
      entry.refuse(concat("'", entry.key, "' has ", elements.size(), " values and '",
                          dimension.names.front(), "' has ", dimension.rows.size(),
                          "; lists of one zip need the same number"));
    }
    for (std::size_t i = 0; i < elements.size(); ++i) {
      dimension.rows[i].push_back(elements[i].value());
    }
  }
  if (dimension.names.empty()) group.refuse("this zip has no parameters");
  return dimension;
}

void read_conditions(const YamlNode& when, Block& block) {
  for (const YamlNode& entry : when.entries()) {
    if (find_dimension(block, entry.key) == nullptr) {
      entry.refuse(concat("'", entry.key, "' is no parameter"));
    }
    for (const YamlNode& condition : entry.entries()) {
      const Dimension* other = find_dimension(block, condition.key);
      if (other == nullptr) condition.refuse(concat("'", condition.key, "' is no parameter"));
      if (condition.key == entry.key || depends_on(block, condition.key, entry.key)) {
        condition.refuse(concat("'", entry.key, "' would depend on itself"));
      }
      Condition read{condition.key, read_values(condition)};
      check_possible(condition, *other, read);
      block.when[entry.key].push_back(std::move(read));
    }
  }
}

}  // namespace bp::launcher::sweep
