// The names of the algorithms of all_reduce, and which of them a job can run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bp {

enum class Algorithm : std::uint8_t {
  automatic,  // by the table of comm/backend/common/selection.h
  ring,
  recursive_doubling,
  halving_doubling,
  tree,
  double_tree,
  hierarchical,  // needs several hosts, one of them with several ranks
};

[[nodiscard]] std::string_view name_of(Algorithm algorithm);  // "ring", "auto"
// Returns the names of all algorithms, "auto" first.
[[nodiscard]] std::vector<std::string> algorithm_names();

// `local_sizes`: the number of ranks of each host.
[[nodiscard]] bool is_possible(Algorithm algorithm, std::span<const int> local_sizes);
[[nodiscard]] bool can_run(std::string_view name, std::span<const int> local_sizes);
// Throws invalid_argument, naming the possible algorithms, for an unknown name and for an algorithm
// that these hosts cannot run.
[[nodiscard]] Algorithm parse_algorithm(std::string_view name, std::span<const int> local_sizes);

}  // namespace bp
