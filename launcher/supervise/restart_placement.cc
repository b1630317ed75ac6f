#include "launcher/supervise/restart_placement.h"

#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"

namespace bp::launcher {

RestartPlacement::RestartPlacement(const Options& options, JobPlan plan)
    : options_(options),
      plan_(std::move(plan)),
      least_(options.min_ranks.value_or(world_size(plan_.placement))) {}

bool RestartPlacement::place() {
  const auto out_of_reach = hosts_.out_of_reach();
  auto all_bad = hosts_.failed_too_often();
  all_bad.insert(out_of_reach.begin(), out_of_reach.end());
  no_plan_.clear();
  for (const auto& without : {all_bad, out_of_reach}) {
    auto plan = make_plan_without(options_, without);
    if (const auto* exit = std::get_if<EarlyExit>(&plan)) {
      no_plan_ = exit->text.substr(std::string_view("bprun: ").size());
      return false;
    }
    plan_ = std::get<JobPlan>(std::move(plan));
    left_out_ = without;
    if (world_size(plan_.placement) >= least_) {
      return true;
    }
  }
  return false;
}

std::string RestartPlacement::too_few() const {
  if (!no_plan_.empty()) {
    return concat("cannot restart: ", no_plan_);
  }
  return concat("cannot restart: there is room for ", describe(plan_.placement),
                ", and --min-ranks is ", least_, left_out("; "));
}

std::string RestartPlacement::left_out(const std::string& before) const {
  std::string text;
  for (const std::string& host : left_out_) {
    text += concat(before, "host ", host, " is left out: it ", hosts_.trouble(host));
  }
  return text;
}

std::string describe(const std::vector<PlacedHost>& placement) {
  const int ranks = world_size(placement);
  std::string text = concat(ranks, ranks == 1 ? " rank" : " ranks");
  for (const PlacedHost& placed : placement) {
    text += concat(placed.first_rank == 0 ? " on " : ",", placed.host.name, ":", placed.ranks);
  }
  return text;
}

}  // namespace bp::launcher
