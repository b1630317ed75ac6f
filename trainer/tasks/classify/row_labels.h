// The labels of one row: one, or several with a separator between them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/label_naming.h"

namespace bp::trainer {

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

// Returns the names with the separator between them.
[[nodiscard]] std::string joined_labels(const std::vector<std::string>& names, char separator);

}  // namespace bp::trainer
