// The page of a scaling table.
#include <cstddef>

#include "base/text.h"
#include "trainer/report/chart.h"
#include "trainer/report/page.h"
#include "trainer/report/shown_text.h"
#include "trainer/runs/scaling.h"

namespace bp::trainer {
namespace {

std::string scaling_cells(const std::vector<TableRow>& table) {
  std::string text = "<div class=\"scroll\" tabindex=\"0\"><table class=\"compared\"><thead>";
  for (std::size_t i = 0; i < table.size(); ++i) {
    const bool head = i == 0;
    text += "<tr>";
    for (std::size_t k = 0; k < table[i].size(); ++k) {
      const std::string cell = html(table[i][k]);
      text += head     ? concat("<th scope=\"col\">", cell, "</th>")
              : k == 0 ? concat("<th scope=\"row\">", cell, "</th>")
                       : concat("<td>", cell, "</td>");
    }
    text += head ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

struct Curve {
  const char* name;
  double (*of)(const ScalingRow& row);
};

std::string scaling_chart(const char* heading,
                          const std::vector<ScalingRow>& rows,
                          const std::vector<Curve>& curves) {
  Chart chart{.title = heading, .x_name = "ranks"};
  for (const Curve& curve : curves) {
    Series series{.name = curve.name, .look = Series::Look::dots};
    for (const ScalingRow& row : rows) {
      const double ranks = row.world.ranks;
      // A chart's x ascends; of two worlds with the same ranks the first one is drawn.
      if (!series.x.empty() && ranks <= series.x.back()) continue;
      series.x.push_back(ranks);
      series.y.push_back(curve.of(row));
    }
    chart.series.push_back(series);
  }
  return concat("<section class=\"card\"><h2>", heading, "</h2>\n", render_chart(chart),
                "</section>\n");
}

}  // namespace

std::string scaling_page(const std::vector<ScalingRow>& rows, const std::string& about) {
  std::string body = concat("<header><h1>Scaling</h1><p>", html(about), "</p></header>\n");
  body += concat("<section class=\"card\"><h2>Worlds</h2>\n", scaling_cells(scaling_table(rows)),
                 "<p>Speed-up: samples a second beside those of the first world. Expansion: the "
                 "speed-up as a share of the additional ranks. Communication: share of a step in "
                 "which rank 0 waited for other ranks.</p></section>\n");
  body += scaling_chart("Speed-up", rows,
                        {{"speed-up", [](const ScalingRow& row) { return row.speed_up; }}});
  body +=
      scaling_chart("Shares", rows,
                    {{"expansion", [](const ScalingRow& row) { return row.expansion; }},
                     {"communication", [](const ScalingRow& row) { return row.communication; }}});
  return page("Scaling", body);
}

}  // namespace bp::trainer
