// Makes samples of rows for the task "classify": a text and its label or labels. Does not use
// LibTorch.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/tasks/regularization.h"
#include "trainer/tasks/task_input.h"
#include "trainer/tasks/text_columns.h"
#include "trainer/tasks/text_rows.h"

namespace bp::trainer {

// How a classifier is trained. See class_loss.h.
struct ClassLossOptions {
  double label_smoothing = 0;  // the share of a label's probability that is spread over all labels
  double focal_gamma = 0;      // 0: cross entropy
  bool balanced = false;       // labels weigh as much as they are rare
  bool operator==(const ClassLossOptions&) const = default;
};

// Normalizes labels before they are compared.
struct LabelForm {
  bool trim = false;   // removes blanks around the label
  bool round = false;  // rounds a number to the nearest whole one, halves away from 0
  bool operator==(const LabelForm&) const = default;
};

struct ClassOptions {
  TextColumns texts = {};
  std::string label_column = "label";  // by name, or by number from 1; a key in JSON lines
  LabelForm label_form = {};
  std::vector<std::string> labels = {};  // the classes in their order; empty: those of the map or
                                         // of the rows to train on
  std::string label_map = {};            // a file, see LabelMap; empty: none
  bool skip_unknown = false;             // leaves out rows with a label that is not a class
  bool multi_label = false;              // a row has any number of labels, also none
  char label_separator = '|';            // between the labels of a row
  // A label is predicted if its probability is at least this; below 0: as the model says.
  double threshold = -1;
  AnswerPer answer_per = AnswerPer::text;
  int top = 0;  // the most probable labels that a prediction has; 0: the probabilities of all
  // The labels of a trained model, in its order, by which rows are scored; empty: those of the
  // rows to train on.
  std::vector<std::string> known_labels = {};
  ClassLossOptions loss = {};
  Regularization regularization = {};
};

// The options of an input that make_classify_input() has returned.
[[nodiscard]] const ClassOptions& class_options(const TaskInput& input);

// Finds the labels of a data set, and what is wrong with them. Its names are the classes that are
// given (see LabelNaming), else the sorted labels of the source to train on. It refuses a row
// without a label (only a test file may have some), and a column of free text as the labels. It
// leaves out or refuses, as the options say, a row whose label is none of the names, or is to be
// rounded and is not a number. All arguments must outlive it.
[[nodiscard]] std::unique_ptr<RowFinder> make_class_finder(const Plan& plan,
                                                           const ClassOptions& options,
                                                           Findings& found);

// As TaskInput::score(), for rows that have one label each, or any number of labels.
[[nodiscard]] std::optional<ScoredFile> score_labels(const FileToScore& file, CsvRows& rows);

// The first array is the label: a number of the store's names, or -1 for a row without a label.
// With several labels a row, it is ragged: their numbers, each once and in ascending order.
inline constexpr std::size_t kLabelArray = 0;

}  // namespace bp::trainer
