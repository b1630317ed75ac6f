#include "launcher/cli/env_option.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

// Those of rank_variables() in launcher/plan and of the agent.
constexpr std::array<std::string_view, 16> kOfEachRank{
    "RANK",          "WORLD_SIZE",       "LOCAL_RANK",    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",    "GROUP_WORLD_SIZE", "MASTER_ADDR",   "MASTER_PORT",
    "BP_STORE",      "BP_JOB",           "BP_KEY_FD",     "BP_LOCAL_SIZES",
    "BP_HOST_NAMES", "BP_HOST_RANK",     "BP_GENERATION", "BP_LAUNCH_COMMAND"};

}  // namespace

void check_variables(const std::vector<std::string>& requests) {
  for (const std::string& request : requests) {
    const std::string name = request.substr(0, request.find('='));
    if (name.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          concat("--env '", request, "' has no name; write --env NAME or --env NAME=VALUE"));
    }
    if (std::ranges::find(kOfEachRank, name) != kOfEachRank.end()) {
      throw Error(ErrorCode::invalid_argument,
                  concat("--env ", name, ": bprun sets ", name,
                         " for each rank; choose another name, or leave this out"));
    }
  }
}

std::vector<std::string> without_values_of_env(std::vector<std::string> words) {
  bool is_value = false;
  for (std::string& word : words) {
    const bool joined = word.starts_with("--env=") || word.starts_with("-x=");
    const std::size_t name = joined ? word.find('=') + 1 : 0;
    if (is_value || joined) word.erase(std::min(word.find('=', name), word.size()));
    is_value = !is_value && (word == "--env" || word == "-x");
  }
  return words;
}

}  // namespace bp::launcher
