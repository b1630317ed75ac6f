// Decides which rank failed first. A rank that ends because another one failed reports that to the
// store. Store events and exit statuses arrive separately and in any order, so the decision may
// have to wait. Pure: the caller passes in events and times.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "comm/store/server.h"

namespace bp::launcher {

struct RootCause {
  enum class Kind {
    ended,        // exited with a code, or was killed by a signal
    left,         // exited with 0, without goodbye, while other ranks were running
    lost_store,   // closed its connection to the store, and still runs
    declared,     // declared the job failed, and still runs or has ended with 0
    consequence,  // reported that it ends because of another rank, which did not fail itself
  };
  Kind kind = Kind::ended;
  int rank = -1;
  int status = 0;                // as from waitpid; for `ended`, `left` and `consequence`
  int because_of = -1;           // for `consequence`: the other rank; -1: the store
  std::string declared = {};     // what the rank reported to the store; empty: nothing
  bool cause_has_ended = false;  // for `consequence`: whether the other rank has ended
  bool operator==(const RootCause&) const = default;
};

class RootCauseDetector {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // How long to wait for a report of an earlier failure once a failed rank has ended.
  static constexpr std::chrono::milliseconds kEarlierCauseTimeout{500};
  // How long to wait for the exit code of a failed rank that still runs.
  static constexpr std::chrono::milliseconds kExitCodeTimeout{1500};

  explicit RootCauseDetector(int world_size) : ranks_(static_cast<std::size_t>(world_size)) {}

  void rank_ended(int rank, int status, Time now);
  void store_event(const StoreEvent& event, Time now);
  // The whole job was suspended for `lost`, which does not count as waiting.
  void time_was_lost(Time::duration lost);

  // Unset: no rank has failed, or it is too early to say which one was first.
  [[nodiscard]] std::optional<RootCause> root_cause(Time now) const;
  // When root_cause() decides at the latest, if a rank looks as if it failed. That decision is
  // final.
  [[nodiscard]] std::optional<Time> latest() const;

  [[nodiscard]] bool any_joined() const { return first_join_.has_value(); }
  // Ranks that joined the store and exited with code 0 without goodbye to it.
  [[nodiscard]] std::vector<int> left_without_goodbye() const;
  // Ranks that have not joined the store although another rank joined `limit` ago.
  [[nodiscard]] std::vector<int> missing(Time now, std::chrono::milliseconds limit) const;

 private:
  struct Rank {
    std::optional<int> status;
    int order = 0;  // of its end among all ends
    bool joined = false;
    bool goodbye = false;
    bool lost = false;
    std::optional<int> because_of;
    std::optional<std::string> declared;
  };
  [[nodiscard]] const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool all_ended_well() const;
  [[nodiscard]] bool has_ended(int rank) const;
  [[nodiscard]] bool others_running(std::size_t rank) const;
  [[nodiscard]] bool failed(std::size_t rank) const;
  [[nodiscard]] bool may_report_more(const Rank& rank) const;
  [[nodiscard]] std::optional<RootCause> first_ended() const;
  [[nodiscard]] std::optional<RootCause> first_that_left() const;
  [[nodiscard]] std::optional<RootCause> without_failed_end() const;
  [[nodiscard]] bool bad(int status) const;
  [[nodiscard]] bool suspicious(const Rank& rank) const;
  void update_first_sign(Time now);

  std::vector<Rank> ranks_;
  std::optional<Time> first_sign_;  // of a failure; unset again if it proves to be none
  std::optional<Time> first_join_;
  int ends_ = 0;
  bool stop_requested_ = false;  // if so, a rank may end with 75: it has saved
};

}  // namespace bp::launcher
