#include "trainer/runs/scaling.h"

#include "base/report/section.h"
#include "base/text.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr double kMilliseconds = 1000;

std::string share_text(double share) { return fixed(100 * share, 1) + " %"; }

struct Curve {
  const char* name;
  double ScalingRow::*value;
};

Section scaling_section(const char* title,
                        const std::vector<ScalingRow>& rows,
                        const std::vector<Curve>& curves) {
  Chart chart{.title = title, .x_name = "ranks"};
  for (const Curve& curve : curves) {
    Series series{.name = curve.name, .look = Series::Look::dots};
    for (const ScalingRow& row : rows) {
      const double ranks = row.world.ranks;
      // A chart's x ascends; of two worlds with the same ranks the first one is drawn.
      if (!series.x.empty() && ranks <= series.x.back()) continue;
      series.x.push_back(ranks);
      series.y.push_back(row.*curve.value);
    }
    chart.series.push_back(series);
  }
  return {.title = title, .charts = {chart}};
}

}  // namespace

std::vector<ScalingRow> scaling_rows(const std::vector<MeasuredWorld>& worlds) {
  std::vector<ScalingRow> rows;
  for (const MeasuredWorld& world : worlds) {
    ScalingRow row{.world = world, .samples_per_s = world.samples / world.seconds};
    if (!rows.empty()) {
      row.speed_up = row.samples_per_s / rows.front().samples_per_s;
      row.expansion = row.speed_up * rows.front().world.ranks / world.ranks;
    }
    row.communication = world.seconds_exposed / world.seconds;
    rows.push_back(row);
  }
  return rows;
}

Table scaling_table(const std::vector<ScalingRow>& rows) {
  Table table = table_of(
      {"world", "ranks", "ms/step", "samples/s", "speed-up", "expansion", "communication"});
  for (const ScalingRow& row : rows) {
    table.add({row.world.name, concat(row.world.ranks),
               rate_text(kMilliseconds * row.world.seconds), rate_text(row.samples_per_s),
               fixed(row.speed_up, 2), fixed(row.expansion, 2), share_text(row.communication)});
  }
  return table;
}

std::string scaling_csv(const std::vector<ScalingRow>& rows) {
  Table table = table_of({"world", "ranks", "samples_per_step", "ms_per_step", "samples_per_s",
                          "speed_up", "expansion", "communication"});
  for (const ScalingRow& row : rows) {
    table.add({row.world.name, concat(row.world.ranks), concat(row.world.samples),
               concat(kMilliseconds * row.world.seconds), concat(row.samples_per_s),
               concat(row.speed_up), concat(row.expansion), concat(row.communication)});
  }
  return csv_text(table);
}

std::string scaling_page(const std::vector<ScalingRow>& rows, const std::string& about) {
  return page_html(
      {.title = "Scaling",
       .about = {about},
       .sections = {
           {.title = "Worlds",
            .table = scaling_table(rows),
            .remark = "Speed-up: samples a second beside those of the first world. Expansion: the "
                      "speed-up divided by the ratio of the ranks. Communication: share of a step "
                      "in which rank 0 waited for other ranks."},
           scaling_section("Speed-up", rows, {{"speed-up", &ScalingRow::speed_up}}),
           scaling_section("Shares", rows,
                           {{"expansion", &ScalingRow::expansion},
                            {"communication", &ScalingRow::communication}})}});
}

}  // namespace bp::trainer
