#include "launcher/failure/root_cause_detector.h"

#include <algorithm>

#include "launcher/report/exit_code.h"

namespace bp::launcher {

bool RootCauseDetector::bad(int status) const {
  return status != 0 && !(stop_requested_ && status == kExitTemporary << 8);
}

bool RootCauseDetector::suspicious(const Rank& rank) const {
  if (rank.declared || rank.because_of || (rank.lost && !rank.goodbye)) {
    return true;
  }
  return rank.status && (bad(*rank.status) || (rank.joined && !rank.goodbye));
}

// Every rank has ended with 0, the store knows of each end, and no rank has declared the job
// failed. Then no harm was done if ranks left without goodbye and others noticed that.
bool RootCauseDetector::all_ended_well() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return rank.status == 0 && (!rank.declared || rank.because_of) &&
           (!rank.joined || rank.goodbye || rank.lost);
  });
}

void RootCauseDetector::update_first_sign(Time now) {
  const auto is_suspicious = [this](const Rank& rank) { return suspicious(rank); };
  if (all_ended_well() || std::none_of(ranks_.begin(), ranks_.end(), is_suspicious)) {
    first_sign_.reset();
  } else if (!first_sign_) {
    first_sign_ = now;
  }
}

void RootCauseDetector::rank_ended(int rank, int status, Time now) {
  Rank& ended = ranks_[static_cast<std::size_t>(rank)];
  ended.status = status;
  ended.order = ends_++;
  update_first_sign(now);
}

void RootCauseDetector::store_event(const StoreEvent& event, Time now) {
  if (event.rank < 0 || event.rank >= static_cast<int>(ranks_.size())) {
    return;  // an observer
  }
  Rank& rank = ranks_[static_cast<std::size_t>(event.rank)];
  switch (event.kind) {
    case StoreEvent::Kind::joined:
      rank.joined = true;
      first_join_ = first_join_.value_or(now);
      break;
    case StoreEvent::Kind::goodbye:
      rank.goodbye = true;
      break;
    case StoreEvent::Kind::lost:
      rank.lost = true;
      break;
    case StoreEvent::Kind::failed:
      rank.declared = event.failure.text;
      break;
    case StoreEvent::Kind::consequence:
      rank.because_of = event.failure.cause;
      rank.declared = event.failure.text;
      break;
    case StoreEvent::Kind::stop_requested:
      stop_requested_ = true;
      break;
    case StoreEvent::Kind::silent:
    case StoreEvent::Kind::back:
      break;  // a slow rank has not failed
  }
  update_first_sign(now);
}

void RootCauseDetector::time_was_lost(Time::duration lost) {
  for (std::optional<Time>* const since : {&first_sign_, &first_join_}) {
    if (*since) {
      **since += lost;
    }
  }
}

bool RootCauseDetector::others_running(std::size_t rank) const {
  for (std::size_t other = 0; other < ranks_.size(); ++other) {
    // A rank that has failed since was still running when this one left.
    const bool finished = ranks_[other].goodbye || ranks_[other].status == 0;
    if (other != rank && !finished) {
      return true;
    }
  }
  return false;
}

bool RootCauseDetector::failed(std::size_t rank) const {
  const Rank& it = ranks_[rank];
  if (!it.status) {
    return false;
  }
  return bad(*it.status) || (it.joined && !it.goodbye && others_running(rank));
}

// The store learns of a rank's end after all of the rank's reports. If a rank ended with 0, all
// others may do so too, and then nothing was wrong.
bool RootCauseDetector::may_report_more(const Rank& rank) const {
  if (!rank.joined || rank.goodbye) {
    return false;
  }
  if (!rank.status) {  // a rank that has named another as its cause has no more to report
    return !rank.because_of && (rank.lost || rank.declared);
  }
  return !rank.lost || (*rank.status == 0 && !rank.because_of);
}

std::optional<RootCauseDetector::Time> RootCauseDetector::latest() const {
  if (!first_sign_) {
    return std::nullopt;
  }
  return *first_sign_ + (first_ended() ? kEarlierCauseTimeout : kExitCodeTimeout);
}

std::optional<RootCause> RootCauseDetector::first_ended() const {
  std::optional<RootCause> first;
  int first_order = ends_;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (failed(i) && !rank.because_of && rank.order < first_order) {
      first_order = rank.order;
      const auto kind = *rank.status == 0 ? RootCause::Kind::left : RootCause::Kind::ended;
      first = RootCause{.kind = kind,
                        .rank = static_cast<int>(i),
                        .status = *rank.status,
                        .declared = rank.declared.value_or("")};
    }
  }
  return first;
}

bool RootCauseDetector::has_ended(int rank) const {
  return rank >= 0 && rank < static_cast<int>(ranks_.size()) && at(rank).status.has_value();
}

// The first of the ranks that noticed that another had left, and then left with 0 themselves.
std::optional<RootCause> RootCauseDetector::first_that_left() const {
  std::optional<RootCause> first;
  int first_order = ends_;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (rank.status == 0 && rank.joined && !rank.goodbye && rank.because_of &&
        has_ended(*rank.because_of) && at(*rank.because_of).status == 0 &&
        rank.order < first_order) {
      first_order = rank.order;
      first = RootCause{.kind = RootCause::Kind::left, .rank = static_cast<int>(i)};
    }
  }
  return first;
}

std::vector<int> RootCauseDetector::left_without_goodbye() const {
  std::vector<int> left;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].status == 0 && ranks_[i].joined && !ranks_[i].goodbye) {
      left.push_back(static_cast<int>(i));
    }
  }
  return left;
}

// For a job in which every end was a consequence, or no rank has ended at all.
std::optional<RootCause> RootCauseDetector::without_failed_end() const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (rank.declared && !rank.because_of) {
      return RootCause{.kind = RootCause::Kind::declared,
                       .rank = static_cast<int>(i),
                       .declared = *rank.declared};
    }
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (!rank.status && rank.lost && !rank.goodbye && !rank.because_of) {
      return RootCause{.kind = RootCause::Kind::lost_store, .rank = static_cast<int>(i)};
    }
  }
  if (auto left = first_that_left()) {
    return left;
  }
  std::optional<RootCause> first;
  int first_order = ends_;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (rank.because_of && (!rank.status || rank.order < first_order)) {
      first_order = rank.status ? rank.order : first_order;
      first = RootCause{.kind = RootCause::Kind::consequence,
                        .rank = static_cast<int>(i),
                        .status = rank.status.value_or(0),
                        .because_of = *rank.because_of,
                        .declared = rank.declared.value_or(""),
                        .cause_has_ended = has_ended(*rank.because_of)};
    }
  }
  return first;
}

std::optional<RootCause> RootCauseDetector::root_cause(Time now) const {
  if (!first_sign_) {
    return std::nullopt;
  }
  const auto more = [this](const Rank& rank) { return may_report_more(rank); };
  const bool may_wait = now < *latest();
  const auto first = first_ended();
  if (may_wait && (!first || std::any_of(ranks_.begin(), ranks_.end(), more))) {
    return std::nullopt;
  }
  return first ? first : without_failed_end();
}

std::vector<int> RootCauseDetector::missing(Time now, std::chrono::milliseconds limit) const {
  std::vector<int> ranks;
  for (std::size_t i = 0; first_join_ && now - *first_join_ >= limit && i < ranks_.size(); ++i) {
    if (!ranks_[i].joined) {
      ranks.push_back(static_cast<int>(i));
    }
  }
  return ranks;
}

}  // namespace bp::launcher
