#include "launcher/sweep/space/yaml_node.h"

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "base/refuse.h"
#include "base/text.h"

namespace bp::launcher::sweep {
namespace {

std::string quoted_key(const std::string& key) { return key.empty() ? "this" : "'" + key + "'"; }

}  // namespace

std::string any_of_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

void YamlNode::refuse(const std::string& what) const {
  bp::refuse(concat(file, ", line ", line), what);
}

std::vector<YamlNode> YamlNode::entries() const {
  if (!node.IsMap()) refuse(concat(quoted_key(key), " must be a map of names to values"));
  std::vector<YamlNode> found;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const YamlNode name{entry.first, file, entry.first.Mark().line + 1};
    YamlNode value{entry.second, file, name.line, name.text()};
    if (!seen.insert(value.key).second) value.refuse(concat("'", value.key, "' is given twice"));
    found.push_back(std::move(value));
  }
  return found;
}

std::vector<YamlNode> YamlNode::entries(const std::vector<std::string>& keys) const {
  auto found = entries();
  for (const YamlNode& entry : found) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    const std::string near = nearest_name(entry.key, keys);
    entry.refuse(
        concat("there is no '", entry.key, "' here; ",
               near.empty() ? "write " + any_of_text(keys) : "did you mean " + near + "?"));
  }
  return found;
}

std::vector<YamlNode> YamlNode::elements() const {
  if (!node.IsSequence()) refuse(concat(quoted_key(key), " must be a list, such as [1, 2]"));
  std::vector<YamlNode> found;
  for (const auto& element : node) {
    // NOLINTNEXTLINE(cppcoreguidelines-slicing): an element of a list is only its Node
    found.push_back({element, file, element.Mark().line + 1, key});
    if (found.back().line <= 0) found.back().line = line;  // yaml-cpp gives null no place
  }
  return found;
}

Value YamlNode::value() const {
  if (!node.IsScalar()) {
    refuse(concat(quoted_key(key),
                  node.IsNull() || !node.IsDefined() ? " has no value" : " must be one value"));
  }
  return node.Tag() == "!" ? Value::of_text(node.Scalar()) : Value::of_scalar(node.Scalar());
}

std::string YamlNode::text() const { return value().text(); }

double YamlNode::number() const {
  const Value found = value();
  if (!found.is_number()) {
    refuse(concat(quoted_key(key), " must be a number, not '", found.text(), "'"));
  }
  return found.number();
}

std::int64_t YamlNode::whole(std::int64_t least) const {
  const Value found = value();
  // Beyond 2^53 a double no longer holds every whole number.
  if (found.kind() != Value::Kind::integer || found.number() < static_cast<double>(least) ||
      found.number() > 9007199254740992.0) {
    refuse(concat(quoted_key(key), " must be a whole number of at least ", least, ", not '",
                  found.text(), "'"));
  }
  return static_cast<std::int64_t>(found.number());
}

std::size_t YamlNode::one_of(const std::vector<std::string>& names) const {
  const std::string wanted = text();
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) {
    refuse(concat(quoted_key(key), " must be ", any_of_text(names), ", not '", wanted, "'"));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace bp::launcher::sweep
