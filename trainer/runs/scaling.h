// How training scales over worlds: jobs of the same training with other ranks. Pure arithmetic on
// what each world measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/report/report_table.h"

namespace bp::trainer {

struct MeasuredWorld {
  std::string name;  // "3+1": the ranks of each host
  int ranks = 1;
  double samples = 0;          // of one step, of all ranks; a mean
  double seconds = 0;          // of one step
  double seconds_exposed = 0;  // of it, waiting for communication that no computation hid
};

struct ScalingRow {
  MeasuredWorld world;
  double samples_per_s = 0;
  // How many times as many samples a second as the first world; above 1: faster. Equal to the time
  // that the first world takes for some rows over the time that this one takes for the same rows.
  double speed_up = 1;
  // The speed-up as a share of what the additional ranks could give: 1 if twice the ranks take
  // twice the samples a second. Published tables call it expansion; it is also known as efficiency.
  double expansion = 1;
  double communication = 0;  // share of a step
};

// Compares the worlds with the first one. All must have positive samples, seconds and ranks.
[[nodiscard]] std::vector<ScalingRow> scaling_rows(const std::vector<MeasuredWorld>& worlds);

[[nodiscard]] Table scaling_table(const std::vector<ScalingRow>& rows);
// Returns it with all digits: world,ranks,samples_per_step,ms_per_step,...
[[nodiscard]] std::string scaling_csv(const std::vector<ScalingRow>& rows);
// Returns a page with the table and charts, which needs no other file. `about`: what was measured.
[[nodiscard]] std::string scaling_page(const std::vector<ScalingRow>& rows,
                                       const std::string& about);

}  // namespace bp::trainer
