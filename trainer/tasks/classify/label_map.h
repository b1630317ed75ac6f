// A file that gives the labels of a data file the names of classes: on each line a label, a tab or
// comma, and the name of its class.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/common/hash.h"

namespace bp::trainer {

// Hashes the file of --label-map. Throws InputError 66, naming the option, if it cannot be read.
[[nodiscard]] FileHash hash_label_map(const std::string& path);

class LabelMap {
 public:
  LabelMap() = default;  // of no label
  // Reads a table of two columns without a header (see find_table_format()). `encoding`: see
  // parse_encoding(). Throws InputError: 66 if the file cannot be read; 65 with the line if it is
  // not such a table, a name is empty, or a label occurs twice.
  LabelMap(const std::string& path, const std::string& encoding);

  // Returns the name of the label's class, or the label itself if the file does not have it.
  [[nodiscard]] std::string class_of(std::string_view label) const;
  // Returns the names of the classes, in the order in which the file first has them.
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }
  // Returns where the file first has this class: "map.csv, row 2 (line 2)".
  [[nodiscard]] const std::string& place_of(const std::string& name) const;

 private:
  struct Target {
    std::string name;   // of the class
    std::string place;  // of the line
  };
  void add(std::string_view label, std::string_view name, const std::string& place);

  std::map<std::string, Target, std::less<>> targets_;  // by label
  std::vector<std::string> classes_;
  std::map<std::string, std::string> places_;  // of the classes
};

}  // namespace bp::trainer
