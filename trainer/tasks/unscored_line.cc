#include "trainer/tasks/unscored_line.h"

#include "base/text.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {

std::string unscored_line(const Unscored& unscored) {
  return concat(unscored.name, ": no ", unscored.answers, " to compare with, ",
                with_commas(unscored.samples), " samples",
                unscored.predictions.empty() ? "; --out FILE writes the predictions"
                                             : "; predictions in " + unscored.predictions);
}

}  // namespace bp::trainer
