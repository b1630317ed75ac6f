#include "trainer/tasks/gap/gap_section.h"

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {

Section gap_section(const GapTally& tally, const std::string& split) {
  Section section{.title = concat("Decisions, ", split, " split"),
                  .note = "Each sample asks twice: is it A, is it B? Scores in percent.",
                  .table = table_of({"pronouns", "precision", "recall", "F1", "right yes",
                                     "wrong yes", "wrong no", "right no"})};
  const auto add = [&](const char* name, const GapDecisions& of) {
    section.table.add({name, fixed(of.precision(), 1), fixed(of.recall(), 1), fixed(of.f1(), 1),
                       with_commas(of.true_positives), with_commas(of.false_positives),
                       with_commas(of.false_negatives), with_commas(of.true_negatives)});
  };
  add("all", tally.overall());
  add("masculine", tally.of(Gender::masculine));
  add("feminine", tally.of(Gender::feminine));
  return section;
}

}  // namespace bp::trainer
