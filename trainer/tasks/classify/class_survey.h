// Finds the labels of a data set, and what is wrong with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"
#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

// Its names are the classes that are given (see LabelNaming), else the sorted labels of the source
// to train on. It refuses a row without a label (only a test file may have some), and a column of
// free text as the labels. It leaves out or refuses, as the options say, a row whose label is none
// of the names, or is to be rounded and is no number. Both arguments must outlive it.
[[nodiscard]] std::unique_ptr<RowSurvey> make_class_survey(const Plan& plan,
                                                           const ClassOptions& options);

// Says that the labels of the source are a column of free text, of which each row would be a class;
// nothing if they are not. `labels`: how many different ones its `rows` have.
[[nodiscard]] Obstacle too_many_labels(const SourceFiles& source,
                                       std::size_t labels,
                                       std::int64_t rows);

}  // namespace bp::trainer
