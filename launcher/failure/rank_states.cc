#include "launcher/failure/rank_states.h"

#include <signal.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "launcher/failure/rank_texts.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {

std::string RankStates::describe(int rank) const {
  return describe_rank(placement_, rank, (*this)[rank].pid);
}

int RankStates::running() const {
  return static_cast<int>(
      std::ranges::count_if(ranks_, [](const RankState& rank) { return !rank.status; }));
}

std::vector<int> RankStates::running_ranks() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    if (!(*this)[rank].status) ranks.push_back(rank);
  }
  return ranks;
}

bool RankStates::any_ended_well() const {
  return std::ranges::any_of(ranks_, [](const RankState& rank) { return rank.status == 0; });
}

int RankStates::exit_code() const {
  int worst = 0;
  for (const RankState& rank : ranks_) {
    const int code = rank.status ? exit_code_of(*rank.status) : 0;
    if (code == kExitTemporary) {
      return code;
    }
    worst = std::max(worst, code);
  }
  return worst;
}

std::vector<std::string> RankStates::bad_ends() const {
  static constexpr std::array kExpected{0,
                                        kExitTemporary,
                                        kExitInterrupted,
                                        kExitSignal + SIGTERM,
                                        kExitSignal + SIGKILL,
                                        kExitSignal + SIGHUP};
  std::vector<std::string> ends;
  for (int rank = 0; rank < size(); ++rank) {
    const auto& status = (*this)[rank].status;
    if (status && std::ranges::find(kExpected, exit_code_of(*status)) == kExpected.end()) {
      ends.push_back(concat(describe(rank), " ", describe_status(*status)));
    }
  }
  return ends;
}

}  // namespace bp::launcher
