#include "trainer/tasks/gap/gap_section.h"

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

std::string html_row_of(const char* name, const GapDecisions& of) {
  std::string cells;
  for (const double score : {of.precision(), of.recall(), of.f1()}) {
    cells += concat("<td>", fixed(score, 1), "</td>");
  }
  for (const std::int64_t count :
       {of.true_positives, of.false_positives, of.false_negatives, of.true_negatives}) {
    cells += concat("<td>", with_commas(count), "</td>");
  }
  return concat("<tr><th scope=\"row\">", name, "</th>", cells, "</tr>\n");
}

}  // namespace

std::string gap_section(const GapTally& tally, const std::string& split) {
  std::string head;
  for (const char* name : {"pronouns", "precision", "recall", "F1", "right yes", "wrong yes",
                           "wrong no", "right no"}) {
    head += concat("<th scope=\"col\">", name, "</th>");
  }
  return concat("<section class=\"card\"><h2>Decisions, ", html(split),
                " split</h2>\n<p class=\"quiet\">Each sample asks twice: is it A, is it B? Scores "
                "in percent.</p>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>",
                head, "</tr></thead>\n<tbody>\n", html_row_of("all", tally.overall()),
                html_row_of("masculine", tally.of(Gender::masculine)),
                html_row_of("feminine", tally.of(Gender::feminine)),
                "</tbody></table></div></section>\n");
}

}  // namespace bp::trainer
