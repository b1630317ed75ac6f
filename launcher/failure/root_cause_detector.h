// Which rank's failure came first. Ranks that end because of another one say so to the store; the
// store's word and the operating system's come by different ways, so a root cause may have to wait
// for the rest of the story. Pure: events and times in, root cause out.
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
    left,         // exited with 0, without goodbye, while others were at work
    lost_store,   // closed its connection to the store, and runs on
    declared,     // declared the job failed, and runs on or has ended with 0
    consequence,  // said that it ends because of another, which runs on or has left in good order
  };
  Kind kind = Kind::ended;
  int rank = -1;
  int status = 0;                // as from waitpid; of `ended`, `left` and `consequence`
  int because_of = -1;           // of `consequence`
  std::string declared = {};     // what the rank told the store, where it did
  bool cause_has_ended = false;  // of `consequence`
  bool operator==(const RootCause&) const = default;
};

class RootCauseDetector {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // For others to say that they came first, once a failed rank has ended.
  static constexpr std::chrono::milliseconds kEarlierCauseTimeout{500};
  // For the end, and so the exit code, of a rank that has failed and still runs.
  static constexpr std::chrono::milliseconds kExitCodeTimeout{1500};

  explicit RootCauseDetector(int world_size) : ranks_(static_cast<std::size_t>(world_size)) {}

  void rank_ended(int rank, int status, Time now);
  void store_event(const StoreEvent& event, Time now);
  // The job stood still for so long until now.
  void time_was_lost(Time::duration lost);

  // Nothing: no failure, or it is too early to say whose.
  [[nodiscard]] std::optional<RootCause> root_cause(Time now) const;
  // If something looks wrong: when root_cause() will know, and what it says then is final.
  [[nodiscard]] std::optional<Time> latest() const;

  [[nodiscard]] bool has_joined(int rank) const { return at(rank).joined; }
  [[nodiscard]] bool any_joined() const { return first_join_.has_value(); }
  // Ranks that joined the store and exited with code 0 without goodbye to it.
  [[nodiscard]] std::vector<int> left_without_goodbye() const;
  // Ranks that have not joined the store although another has, `patience` ago.
  [[nodiscard]] std::vector<int> missing(Time now, std::chrono::milliseconds patience) const;

 private:
  struct Rank {
    std::optional<int> status;
    int order = 0;  // of its end
    bool joined = false;
    bool goodbye = false;
    bool lost = false;
    std::optional<int> because_of;
    std::optional<std::string> declared;
  };
  [[nodiscard]] const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool all_ended_well() const;
  [[nodiscard]] bool has_ended(int rank) const;
  [[nodiscard]] bool others_at_work(std::size_t rank) const;
  [[nodiscard]] bool failed(std::size_t rank) const;
  [[nodiscard]] bool may_say_more(const Rank& rank) const;
  [[nodiscard]] std::optional<RootCause> first_ended() const;
  [[nodiscard]] std::optional<RootCause> first_that_left() const;
  [[nodiscard]] std::optional<RootCause> second_best() const;
  [[nodiscard]] bool bad(int status) const;
  [[nodiscard]] bool suspicious(const Rank& rank) const;
  void look_for_signs(Time now);

  std::vector<Rank> ranks_;
  std::optional<Time> first_sign_;  // of a failure; gone again when it turns out to be none
  std::optional<Time> first_join_;
  int ends_ = 0;
  bool stop_requested_ = false;  // from now on a rank may end with 'saved', 75
};

}  // namespace bp::launcher
