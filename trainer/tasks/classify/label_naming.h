// How a label as a data file has it becomes the name of a class, and which classes there are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/label_form.h"
#include "trainer/tasks/classify/label_map.h"

namespace bp::trainer {

class LabelNaming {
 public:
  // Reads the file of --label-map, if there is one; for `encoding` see LabelMap. Throws what
  // LabelMap throws; InputError 65 for a class of the map that is none of --labels, and 2 if fewer
  // than two classes are given, or one that the model does not have that scores the rows.
  LabelNaming(const ClassOptions& options, const std::string& encoding);

  // Returns the name of the label's class; nothing if it must be rounded and is not a number. An
  // empty label stays empty.
  [[nodiscard]] std::optional<std::string> name_of(std::string_view label) const;

  // Returns the classes of the model that scores the rows, else those that the user gives, in their
  // order; empty: those of the rows to train on.
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }
  // Returns where they come from, for messages: "of the model".
  [[nodiscard]] const std::string& origin() const { return origin_; }

 private:
  LabelForm form_;
  LabelMap map_;
  std::vector<std::string> classes_;
  std::string origin_;
};

}  // namespace bp::trainer
