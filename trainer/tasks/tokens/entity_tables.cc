#include "trainer/tasks/tokens/entity_tables.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/predictions.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr int kDigits = 3;
constexpr int kFileDigits = 6;

std::string html_row(const std::string& name, const EntityScore& of) {
  constexpr std::size_t kLongestName = 24;
  return concat("<tr><th scope=\"row\">", html(shortened(repaired_utf8(name), kLongestName)),
                "</th><td>", fixed(of.precision, kDigits), "</td><td>", fixed(of.recall, kDigits),
                "</td><td>", fixed(of.f1, kDigits), "</td><td>", with_commas(of.support),
                "</td></tr>\n");
}

std::vector<std::pair<std::string, EntityScore>> averages(const EntityScores& scores) {
  return {
      {"micro avg", scores.micro}, {"macro avg", scores.macro}, {"weighted avg", scores.weighted}};
}

}  // namespace

std::string entity_section(const EntityScores& scores, const std::string& split) {
  std::string rows;
  for (std::size_t i = 0; i < scores.types.size(); ++i) {
    rows += html_row(scores.types[i], scores.scores[i]);
  }
  std::string means;
  for (const auto& [name, score] : averages(scores)) means += html_row(name, score);
  return concat("<section class=\"card\"><h2>Entities, ", html(split),
                " split</h2>\n<p class=\"quiet\">An entity is right if its type, its first word "
                "and its last word are.</p>\n"
                "<div class=\"scroll tall\" tabindex=\"0\"><table><thead><tr>"
                "<th scope=\"col\">type</th><th scope=\"col\">precision</th>"
                "<th scope=\"col\">recall</th><th scope=\"col\">F1</th>"
                "<th scope=\"col\">entities</th></tr></thead>\n<tbody>\n",
                rows, "</tbody>\n<tfoot>\n", means, "</tfoot></table></div></section>\n");
}

std::string entities_csv(const EntityScores& scores) {
  std::string text = "type,precision,recall,f1,support\n";
  const auto add = [&](const std::string& name, const EntityScore& of) {
    text += concat(csv_field(name), ',', fixed(of.precision, kFileDigits), ',',
                   fixed(of.recall, kFileDigits), ',', fixed(of.f1, kFileDigits), ',', of.support,
                   '\n');
  };
  for (std::size_t i = 0; i < scores.types.size(); ++i) add(scores.types[i], scores.scores[i]);
  for (const auto& [name, score] : averages(scores)) add(name, score);
  return text;
}

}  // namespace bp::trainer
