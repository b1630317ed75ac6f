// Keeps the state of each rank of a generation, and decides what follows from it for the job. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"

namespace bp::launcher {

struct RankState {
  int pid = 0;
  std::optional<int> status;           // as from waitpid, once it has ended
  std::string cause_on_host;           // why it ended, as far as its host knows; or empty
  bool stopped_after_failure = false;  // it ran when bprun stopped the job because of another rank
};

class RankStates {
 public:
  explicit RankStates(const std::vector<PlacedHost>& placement)
      : placement_(placement), ranks_(static_cast<std::size_t>(world_size(placement))) {}

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] RankState& operator[](int rank) {
    return ranks_.at(static_cast<std::size_t>(rank));
  }
  [[nodiscard]] const RankState& operator[](int rank) const {
    return ranks_.at(static_cast<std::size_t>(rank));
  }

  [[nodiscard]] std::string describe(int rank) const;  // "rank 2 on b (...)": rank_texts.h
  [[nodiscard]] int running() const;
  [[nodiscard]] std::vector<int> running_ranks() const;
  [[nodiscard]] bool any_ended_well() const;
  // The exit code of a job that was asked to stop: kExitTemporary (saved) if any rank ended with
  // it, else the highest code of a rank.
  [[nodiscard]] int exit_code() const;
  // "rank 2 on b (...) exited with code 7" for each rank whose end is not one of a rank that was
  // asked to stop.
  [[nodiscard]] std::vector<std::string> bad_ends() const;

 private:
  const std::vector<PlacedHost>& placement_;
  std::vector<RankState> ranks_;
};

}  // namespace bp::launcher
