// How a label as a data file has it becomes the name of a class, and which classes there are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/label_map.h"

namespace bp::trainer {

// Returns the label in the requested form; nothing if it must be rounded and is not a number. An
// empty label stays empty.
[[nodiscard]] std::optional<std::string> formed_label(std::string_view label,
                                                      const LabelForm& form);

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

// The labels of one row: one, or several with a separator between them.
class RowLabels {
 public:
  // Both must outlive it.
  RowLabels(const ClassOptions& options, const LabelNaming& naming)
      : options_(options), naming_(naming) {}

  // Reads what the row has in the column of the labels. Returns false if a label must be rounded
  // and is not a number; refused() is this label.
  [[nodiscard]] bool read(std::string_view written);

  // Valid until the next call of read().
  [[nodiscard]] std::string_view refused() const { return refused_; }
  // Returns the names of the labels' classes: one or none if a row has one label; else any number,
  // sorted, each once.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // Returns the class of the row for a stratified split: all its names together.
  [[nodiscard]] std::string_view stratum();

 private:
  [[nodiscard]] bool add(std::string_view label);

  const ClassOptions& options_;
  const LabelNaming& naming_;
  std::vector<std::string> names_;
  std::string_view refused_;
  std::string stratum_;
};

}  // namespace bp::trainer
