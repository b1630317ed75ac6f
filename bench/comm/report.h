// The output of comm_bench: the machine and the build, a table, JSON lines.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "bench/comm/measure.h"
#include "bp/types.h"

namespace bp::bench {

// A line of the table. Bandwidths are in 10^9 bytes per second.
struct Row {
  std::string op;
  std::string backend;
  std::string algorithm;
  DataType type = DataType::f32;
  std::size_t bytes = 0;
  int ranks = 1;
  int hosts = 1;
  Measurement measured;
  double bus_factor = 0;

  [[nodiscard]] double algorithm_bandwidth() const;
  [[nodiscard]] double bus_bandwidth() const { return algorithm_bandwidth() * bus_factor; }
};

void print_machine(std::ostream& out);  // warns if the build is not one for measuring
void print_heading(std::ostream& out);
void print_row(std::ostream& out, const Row& row);
void print_json(std::ostream& out, const Row& row);

}  // namespace bp::bench
