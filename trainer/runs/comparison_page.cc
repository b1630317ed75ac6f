// The page that compares runs.
#include <algorithm>
#include <cstddef>
#include <functional>

#include "base/text.h"
#include "trainer/report/chart.h"
#include "trainer/report/page.h"
#include "trainer/report/shown_text.h"
#include "trainer/runs/comparison.h"

namespace bp::trainer {
namespace {

// `first`: returns HTML before the text of the first cell of a row.
std::string table_html(const std::vector<TableRow>& rows,
                       const std::function<std::string(std::size_t)>& first) {
  std::string head;
  std::string body;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string& part = i == 0 ? head : body;
    part += "<tr>";
    for (std::size_t k = 0; k < rows[i].size(); ++k) {
      const bool named = i == 0 || k == 0;
      part +=
          concat(named ? concat("<th scope=\"", i == 0 ? "col" : "row", "\">") : "<td>",
                 i > 0 && k == 0 ? first(i - 1) : "", html(rows[i][k]), named ? "</th>" : "</td>");
    }
    part += "</tr>\n";
  }
  return concat("<div class=\"scroll\" tabindex=\"0\"><table class=\"compared\"><thead>", head,
                "</thead>\n<tbody>\n", body, "</tbody></table></div>\n");
}

Series train_loss_of(const RunRecord& run) {
  Series series{.look = Series::Look::smooth};
  for (const StepRecord& record : run.metrics.steps) {
    series.x.push_back(static_cast<double>(record.step));
    series.y.push_back(record.loss);
  }
  return series;
}

Series dev_of(const RunRecord& run, const std::string& key) {
  Series series{.look = Series::Look::dots};
  for (const EvaluationRecord& record : run.metrics.evaluations) {
    if (record.split != "dev") continue;
    series.x.push_back(static_cast<double>(record.step));
    series.y.push_back(record.result.at(key));
  }
  return series;
}

std::string chart_card(const std::string& heading,
                       const std::vector<RunRecord>& runs,
                       const std::function<Series(const RunRecord&)>& series_of) {
  const std::vector<std::string> names = short_names(runs);
  Chart chart{.title = heading + " of each run", .of_runs = true};
  bool any = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    chart.series.push_back(series_of(runs[i]));
    chart.series.back().name = names[i];
    any = any || !chart.series.back().x.empty();
  }
  if (!any) return "";
  return concat("<section class=\"card\"><h2>", html(heading), "</h2>\n", render_chart(chart),
                "</section>\n");
}

std::string score_cards(const std::vector<RunRecord>& runs) {
  std::string cards;
  std::vector<std::string> shown = {"loss"};
  for (const RunRecord& run : runs) {
    const std::string& key = run.main_score.key;
    if (std::ranges::find(shown, key) != shown.end()) continue;
    shown.push_back(key);
    cards += chart_card("dev " + key, runs, [&](const RunRecord& one) { return dev_of(one, key); });
  }
  return cards;
}

}  // namespace

std::string comparison_page(const std::vector<RunRecord>& runs) {
  const std::string title = concat(runs.size(), " runs");
  const auto curve = [](std::size_t i) { return curve_sample(run_colour(i)); };
  const std::vector<TableRow> settings = differing_settings(runs);
  const std::string of_settings =
      settings.empty() ? "<p class=\"quiet\">All settings are the same.</p>"
                       : table_html(settings, [](std::size_t) { return std::string(); });
  std::string paths;
  for (const RunRecord& run : runs) paths += (paths.empty() ? "" : ", ") + html(run.path);
  return page(
      title,
      concat("<header><h1>", title, "</h1>\n<p class=\"quiet\">", paths,
             "</p></header>\n<section class=\"card\"><h2>Results</h2>\n",
             table_html(compared_runs(runs), curve), "</section>\n", score_cards(runs),
             chart_card("train loss", runs, train_loss_of),
             chart_card("dev loss", runs, [](const RunRecord& run) { return dev_of(run, "loss"); }),
             "<section class=\"card\"><h2>Settings that differ</h2>\n", of_settings,
             "</section>\n<footer>Written by bert_train report, at ", utc_now(), ".</footer>\n"));
}

}  // namespace bp::trainer
