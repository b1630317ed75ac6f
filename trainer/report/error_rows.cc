#include "trainer/report/error_rows.h"

#include <algorithm>

#include "base/report/escape.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kLongestName = 200;  // code points of answers and predictions

std::string shown_name(const std::string& labels) {
  return labels.empty() ? "none" : shortened(repaired_utf8(labels), kLongestName);
}

std::string line_of(const std::string& text) {
  constexpr std::size_t kLongestLine = 160;
  return shortened(one_line(text), kLongestLine);
}

}  // namespace

Section error_section(const ErrorRows& errors) {
  using Look = Quote::Words::Look;
  const bool right = std::ranges::all_of(
      errors.rows, [](const ErrorRow& row) { return row.answer == row.prediction; });
  Section section{.title = concat("Worst rows, ", errors.split, " split"),
                  .note = concat("Those with ", errors.order,
                                 right ? ", although all of them are predicted right."
                                       : ". Often they show what is wrong with the data."),
                  .open = kOpenErrorRows};
  for (const ErrorRow& row : errors.rows) {
    const std::string facts = row.facts.empty() ? ". " : concat("; ", row.facts, ". ");
    section.quotes.push_back(
        {.text = row.text,
         .about = {{"is "},
                   {shown_name(row.answer), Look::strong},
                   {", predicted "},
                   {shown_name(row.prediction), Look::strong},
                   {facts},
                   {concat("text ", row.text_id, ", sample ", row.sample_id), Look::quiet}}});
  }
  section.fold = concat(errors.rows.size() - std::min(errors.rows.size(), kOpenErrorRows), " more");
  return section;
}

std::string error_lines(const ErrorRows& errors) {
  if (errors.rows.empty()) return "";
  std::string text = concat("worst rows of ", errors.split, ", those with ", errors.order, "\n");
  for (std::size_t i = 0; i < std::min(errors.rows.size(), kOpenErrorRows); ++i) {
    const ErrorRow& row = errors.rows[i];
    text +=
        concat("  text ", row.text_id, ", sample ", row.sample_id, ": is ",
               line_of(shown_name(row.answer)), ", predicted ", line_of(shown_name(row.prediction)),
               row.facts.empty() ? "" : concat("; ", row.facts), "\n");
    if (!row.text.empty()) text += concat("    ", line_of(row.text), "\n");
  }
  return text;
}

}  // namespace bp::trainer
