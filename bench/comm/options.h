// comm_bench's command line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/comm/measure.h"
#include "bench/comm/task.h"
#include "bp/types.h"

namespace bp::bench {

struct Options {
  std::string op = "all_reduce";
  std::string backend = "auto";
  std::string algorithm = "auto";
  DataType type = DataType::f32;
  std::size_t min_bytes = 4;
  std::size_t max_bytes = std::size_t{256} << 20;
  std::vector<std::size_t> sizes;  // these instead, where there are any
  Memory memory = Memory::allocated;
  bool touch = false;
  int iterations = 0;  // 0: by size, see pace_for
  double seconds = 0;  // 0: as many iterations as it takes
  std::string json;    // file; empty: none
  bool show_selection = false;
  std::string tune;  // file; empty: no
};

// What the program is to do: run with `options`, or end at once with `exit_code` after printing
// `text` (help or version on stdout with code 0, else an error on stderr with code 2).
struct CommandLine {
  std::optional<Options> options;
  int exit_code = 0;
  std::string text;
};
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

// `sizes`, or min_bytes, doubled until max_bytes is passed.
[[nodiscard]] std::vector<std::size_t> sizes_of(const Options& options);

// Enough for a median that stands still, and bounded in time. The same on all ranks.
[[nodiscard]] Pace pace_for(const Options& options, std::size_t bytes);

}  // namespace bp::bench
