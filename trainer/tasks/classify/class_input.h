// What the task "classify" makes of rows: a text and its label. Does not use LibTorch.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/tasks/classify/label_form.h"
#include "trainer/tasks/text_columns.h"

namespace bp::trainer {

struct ClassOptions {
  TextColumns texts = {};
  std::string label_column = "label";  // by name, or by number from 1; a key in JSON lines
  LabelForm label_form = {};
  // The labels of a trained model, in its order, by which rows are scored; empty: those of the
  // rows to train on.
  std::vector<std::string> known_labels = {};
};

// The label is the first array: a number of the store's names, or -1 for a row without a label.
inline constexpr std::size_t kLabelArray = 0;

}  // namespace bp::trainer
