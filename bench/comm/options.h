// comm_bench's command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/comm/measure.h"
#include "bench/comm/task.h"
#include "bp/device.h"
#include "bp/types.h"

namespace bp::bench {

struct Options {
  std::string op = "all_reduce";
  std::string backend = "auto";
  std::string algorithm = "auto";
  DataType type = DataType::f32;
  std::uint64_t min_bytes = 4;
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
  std::vector<std::size_t> sizes;  // replace min_bytes and max_bytes, unless empty
  Memory memory = Memory::allocated;
  Device::Kind device = Device::Kind::host;
  bool touch = false;
  int iterations = 0;  // 0: by size, see pace_for
  double seconds = 0;  // 0: no limit
  std::string json;    // file; empty: none
  bool show_selection = false;
  std::string tune;  // file; empty: do not tune
};

// The result of parsing. With `options` the program runs. Without, it must print `text` and exit
// with `exit_code`: help or version on stdout with 0, or an error on stderr with 2.
struct CommandLine {
  std::optional<Options> options;
  int exit_code = 0;
  std::string text;
};
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

// Returns options.sizes, or else min_bytes and its doubles up to max_bytes.
[[nodiscard]] std::vector<std::size_t> sizes_of(const Options& options);

// Returns the options' pace, or by default a number of iterations that is large enough for a stable
// median and takes limited time. The same on all ranks.
[[nodiscard]] Pace pace_for(const Options& options, std::size_t bytes);

}  // namespace bp::bench
