#include "trainer/report/error_rows.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kLongestName = 200;  // code points of answers and predictions

std::string shown_name(const std::string& labels) {
  return labels.empty() ? "none" : shortened(repaired_utf8(labels), kLongestName);
}

// Texts of up to kLongestOpen code points show in full. Longer ones show their beginning, and are
// folded.
std::string quote(const std::string& source) {
  constexpr std::size_t kLongestOpen = 400;
  constexpr std::size_t kBeginning = 240;
  constexpr std::size_t kLongestText = 5000;
  const std::string text = repaired_utf8(source);
  if (text.empty()) return "";
  if (code_points(text) <= kLongestOpen) return concat("<blockquote>", html(text), "</blockquote>");
  return concat("<blockquote>", html(shortened(text, kBeginning)),
                "<details><summary>whole text</summary>", html(shortened(text, kLongestText)),
                "</details></blockquote>");
}

std::string item(const ErrorRow& row) {
  return concat("<li>", quote(row.text), "<p>is <b>", html(shown_name(row.answer)),
                "</b>, predicted <b>", html(shown_name(row.prediction)), "</b>",
                row.facts.empty() ? "" : concat("; ", html(row.facts)),
                ". <span class=\"quiet\">text ", row.text_id, ", sample ", row.sample_id,
                "</span></p></li>\n");
}

// Returns the text on one line, without what a terminal takes for a command.
std::string one_line(const std::string& source) {
  constexpr std::size_t kLongestLine = 160;
  std::string text = repaired_utf8(source);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return shortened(text, kLongestLine);
}

}  // namespace

std::string error_section(const ErrorRows& errors) {
  if (errors.rows.empty()) return "";
  std::string open;
  std::string folded;
  for (std::size_t i = 0; i < errors.rows.size(); ++i) {
    (i < kOpenErrorRows ? open : folded) += item(errors.rows[i]);
  }
  const std::size_t more = errors.rows.size() - std::min(errors.rows.size(), kOpenErrorRows);
  return concat("<section class=\"card\"><h2>Worst rows, ", html(errors.split),
                " split</h2>\n<p class=\"quiet\">Those with ", html(errors.order),
                ". Often they show what is wrong with the data.</p>\n<ol class=\"rows\">\n", open,
                "</ol>\n",
                more == 0 ? ""
                          : concat("<details><summary>", more, " more</summary><ol class=\"rows\">",
                                   folded, "</ol></details>\n"),
                "</section>\n");
}

std::string error_lines(const ErrorRows& errors) {
  if (errors.rows.empty()) return "";
  std::string text = concat("worst rows of ", errors.split, ", those with ", errors.order, "\n");
  for (std::size_t i = 0; i < std::min(errors.rows.size(), kOpenErrorRows); ++i) {
    const ErrorRow& row = errors.rows[i];
    text += concat("  text ", row.text_id, ", sample ", row.sample_id, ": is ",
                   one_line(shown_name(row.answer)), ", predicted ",
                   one_line(shown_name(row.prediction)),
                   row.facts.empty() ? "" : concat("; ", row.facts), "\n");
    if (!row.text.empty()) text += concat("    ", one_line(row.text), "\n");
  }
  return text;
}

}  // namespace bp::trainer
