#include "trainer/options/config_file.h"

#include <fstream>
#include <set>

#include <yaml-cpp/yaml.h>

#include "base/input_error.h"
#include "base/system/home_path.h"
#include "base/system/regular_file.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

[[noreturn]] void refuse_line(const std::string& place, const std::string& what) {
  throw InputError(65, concat(place, ": ", what),
                   "write one option per line: its long name, a colon and its value");
}

std::string place_of(const std::string& path, const YAML::Mark& mark) {
  return concat(path, ", line ", mark.line + 1);
}

std::string value_text(const YAML::Node& node, const std::string& place) {
  if (node.IsNull()) return "";
  if (node.IsScalar()) return node.as<std::string>();
  if (!node.IsSequence()) refuse_line(place, "an option has one value, not a map");
  std::string text;
  for (const YAML::Node& element : node) {
    if (!element.IsScalar()) refuse_line(place, "a list of lists or maps is not a value");
    text += (text.empty() ? "" : ",") + element.as<std::string>();
  }
  return text;
}

}  // namespace

std::vector<ConfigValue> read_options(const std::string& path) {
  const OpenedFile opened = open_regular_file(path);
  if (!opened.fd) {
    throw InputError(66, concat("cannot read the configuration ", path, ": ", opened.problem),
                     opened.error == 0
                         ? "give a file; a pipe must be written to a file first"
                         : "check the name, and the folder in which it is looked for");
  }
  std::ifstream file(path);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(file);
    if (documents.empty() || documents.front().IsNull()) return {};
    if (documents.size() > 1) {
      refuse_line(place_of(path, documents[1].Mark()), "a second document begins, behind ---");
    }
    const YAML::Node& root = documents.front();
    if (!root.IsMap()) refuse_line(place_of(path, root.Mark()), "this is not a list of options");
    std::vector<ConfigValue> values;
    std::set<std::string> seen;
    for (const auto& entry : root) {
      const std::string place = place_of(path, entry.first.Mark());
      const auto key = entry.first.as<std::string>();
      if (!seen.insert(key).second) refuse_line(place, concat("'", key, "' is given twice"));
      values.push_back({key, value_text(entry.second, place), place});
    }
    return values;
  } catch (const YAML::Exception& error) {
    refuse_line(place_of(path, error.mark), error.msg);
  }
}

std::string typed_value(const std::vector<std::string>& arguments, const std::string& name) {
  const std::string option = "--" + name;
  std::string value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) value = arguments[i + 1];
    if (arguments[i].starts_with(option + "=")) value = arguments[i].substr(option.size() + 1);
  }
  return value;
}

std::string config_in(const std::vector<std::string>& arguments) {
  return expand_home(typed_value(arguments, "config"));
}

}  // namespace bp::trainer
