// Reads typed values from a YAML file. Each error names the file and the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// A node with the file that errors name.
struct YamlNode {
  YAML::Node node;
  std::string file = {};
  int line = 0;          // of its key in a map, or its own
  std::string key = {};  // "" if it is not a value of a map

  // Throws invalid_argument: "FILE, line N: what".
  [[noreturn]] void refuse(const std::string& what) const;

  // Returns the values of a map, each with its key. Refuses what is not a map, and a key that
  // occurs twice.
  [[nodiscard]] std::vector<YamlNode> entries() const;
  // The same, and refuses keys that are not in `keys`.
  [[nodiscard]] std::vector<YamlNode> entries(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::vector<YamlNode> elements() const;  // refuses what is not a list

  // A scalar with quotes is a text. Refuses null, lists and maps.
  [[nodiscard]] Value value() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] double number() const;
  // Refuses what is not a whole number of at least `least`.
  [[nodiscard]] std::int64_t whole(std::int64_t least) const;
  // Returns the index of the scalar in `names`, or refuses it.
  [[nodiscard]] std::size_t one_of(const std::vector<std::string>& names) const;
};

// "a, b or c"
[[nodiscard]] std::string any_of_text(const std::vector<std::string>& names);

}  // namespace bp::launcher::sweep
