// The labels of a classification task, numbered in a fixed order.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

class LabelSet {
 public:
  void add(std::string_view label);

  // Returns the labels sorted by value if all of them are numbers, else by bytes.
  [[nodiscard]] std::vector<std::string> sorted() const;

 private:
  std::map<std::string, bool, std::less<>> labels_;  // the value says whether the label is a number
};

}  // namespace bp::trainer
