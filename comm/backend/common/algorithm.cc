#include "comm/backend/common/algorithm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr std::array<std::pair<std::string_view, Algorithm>, 7> kAlgorithms = {
    {{"auto", Algorithm::automatic},
     {"ring", Algorithm::ring},
     {"recursive_doubling", Algorithm::recursive_doubling},
     {"halving_doubling", Algorithm::halving_doubling},
     {"tree", Algorithm::tree},
     {"double_tree", Algorithm::double_tree},
     {"hierarchical", Algorithm::hierarchical}}};

std::string hosts_text(std::span<const int> local_sizes) {
  std::string text = concat(local_sizes.size(), local_sizes.size() == 1 ? " host (" : " hosts (");
  for (std::size_t i = 0; i < local_sizes.size(); ++i) {
    text += concat(i == 0 ? "" : "+", local_sizes[i]);
  }
  return text + " ranks)";
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  for (const auto& [text, known] : kAlgorithms) {
    if (known == algorithm) return text;
  }
  return "unknown algorithm";
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& [text, algorithm] : kAlgorithms) names.emplace_back(text);
  return names;
}

bool is_possible(Algorithm algorithm, std::span<const int> local_sizes) {
  if (algorithm != Algorithm::hierarchical) return true;
  return local_sizes.size() > 1 && std::ranges::max(local_sizes) > 1;
}

bool can_run(std::string_view name, std::span<const int> local_sizes) {
  return std::ranges::any_of(kAlgorithms, [&](const auto& known) {
    return known.first == name && is_possible(known.second, local_sizes);
  });
}

Algorithm parse_algorithm(std::string_view name, std::span<const int> local_sizes) {
  std::string possible;
  bool known = false;
  for (const auto& [text, algorithm] : kAlgorithms) {
    known = known || text == name;
    if (!is_possible(algorithm, local_sizes)) continue;
    if (text == name) return algorithm;
    possible += concat(possible.empty() ? "" : ", ", text);
  }
  if (!known) {
    throw Error(ErrorCode::invalid_argument,
                concat("there is no algorithm '", name, "'; possible here: ", possible));
  }
  throw Error(
      ErrorCode::invalid_argument,
      concat("the algorithm '", name, "' needs several hosts, one of them with several ",
             "ranks; this job has ", hosts_text(local_sizes), "; possible here: ", possible));
}

}  // namespace bp
