#include "trainer/runs/scaling.h"

#include "base/text.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr double kMilliseconds = 1000;

std::string share_text(double share) { return fixed(100 * share, 1) + " %"; }

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

std::vector<TableRow> scaling_table(const std::vector<ScalingRow>& rows) {
  std::vector<TableRow> table = {
      {"world", "ranks", "ms/step", "samples/s", "speed-up", "expansion", "communication"}};
  for (const ScalingRow& row : rows) {
    table.push_back({row.world.name, concat(row.world.ranks),
                     rate_text(kMilliseconds * row.world.seconds), rate_text(row.samples_per_s),
                     fixed(row.speed_up, 2), fixed(row.expansion, 2),
                     share_text(row.communication)});
  }
  return table;
}

std::string scaling_csv(const std::vector<ScalingRow>& rows) {
  std::string text =
      "world,ranks,samples_per_step,ms_per_step,samples_per_s,speed_up,expansion,communication\n";
  for (const ScalingRow& row : rows) {
    text += concat(row.world.name, ',', row.world.ranks, ',', row.world.samples, ',',
                   kMilliseconds * row.world.seconds, ',', row.samples_per_s, ',', row.speed_up,
                   ',', row.expansion, ',', row.communication, '\n');
  }
  return text;
}

}  // namespace bp::trainer
