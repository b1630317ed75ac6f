#include "comm/shared/phase_barrier.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

#include "base/system/usable_cores.h"
#include "comm/transport/transport.h"

namespace bp {
namespace {

// Makes the scheduler move the calling thread to another core that it may use, if there is one.
void leave_core() {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  cpu_set_t others = usable;
  CPU_CLR(static_cast<unsigned>(::sched_getcpu()), &others);
  if (CPU_COUNT(&others) == 0) return;
  if (::sched_setaffinity(0, sizeof(others), &others) == 0) {
    ::sched_setaffinity(0, sizeof(usable), &usable);  // it may come back when it likes
  }
}

// std::atomic::wait() does not wake other processes, so these make the system call. A wait may
// return early, without a reason.
void futex_wait(const std::atomic<std::uint32_t>& word,
                std::uint32_t value,
                std::chrono::milliseconds at_most) {
  const timespec time{.tv_sec = at_most.count() / 1000,
                      .tv_nsec = at_most.count() % 1000 * 1'000'000};
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}
void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr int kSpins = 2000;  // tens of microseconds
constexpr int kYields = 100;  // about the same again, if no other thread wants the core
constexpr std::uint32_t kMeasureEvery = 16;  // phases; before that, every phase
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRarestMoves{10'000};
constexpr std::chrono::milliseconds kHelpsLong{1'000};
// A sleeper notices a stop or the end of another process within this time. Each look takes a few
// microseconds.
constexpr std::chrono::milliseconds kSlice{5};

}  // namespace

struct PhaseBarrier::Lines {
  struct alignas(64) Line {
    std::atomic<std::uint32_t> phase;
    std::atomic<std::int16_t> core;  // on which the rank wrote the line
    std::atomic<bool> near;          // to the other ranks, by this rank's votes
    std::atomic<bool> crowded;       // as this rank sees the host
    Announcement announcement;
  };
  std::array<Line, 2> lines;
  alignas(64) std::atomic<std::uint32_t> sleepers;  // ranks that sleep until this one arrives

  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");
  static_assert(sizeof(Line) == 64);
};

PhaseBarrier::PhaseBarrier(std::shared_ptr<SharedHost> host,
                           std::vector<Location> locations,
                           int rank)
    : host_(std::move(host)), locations_(std::move(locations)), rank_(rank) {
  static_assert(sizeof(Lines) == kBytes);
  crowded_ = static_cast<long>(locations_.size()) > ::sysconf(_SC_NPROCESSORS_ONLN);
  const int cores = usable_threads();
  fair_share_ = (static_cast<int>(locations_.size()) + cores - 1) / cores;
  for (const Location& location : locations_) {
    // Zeroed memory is an atomic that holds 0, in every process.
    lines_.push_back(reinterpret_cast<Lines*>(host_->at(location.rank, location.offset)));
  }
}

void PhaseBarrier::arrive(const Announcement& announcement) {
  ++phase_;
  complete_ = false;
  Lines& own = lines_of(rank_);
  Lines::Line& line = own.lines[phase_ % 2];
  const bool measured = phase_ % kMeasureEvery == 0 || phase_ < kMeasureEvery;
  // Touches the page first. After another process has used the core, its translation takes as long
  // as what is measured.
  if (measured) (void)own.sleepers.load(std::memory_order_acquire);
  const auto begin = measured ? Clock::now() : Clock::time_point();
  line.announcement = announcement;
  line.core.store(static_cast<std::int16_t>(::sched_getcpu()), std::memory_order_relaxed);
  line.near.store(votes_for_far_ <= kVotes / 2, std::memory_order_relaxed);
  line.crowded.store(crowded_, std::memory_order_relaxed);
  if (measured) {  // the slower store returns when the line is in this core's cache
    line.phase.store(phase_, std::memory_order_seq_cst);
    vote(Clock::now() - begin);
  } else {
    line.phase.store(phase_, std::memory_order_release);
  }
  if (own.sleepers.load(std::memory_order_relaxed) > 0) futex_wake_all(line.phase);
}

// A rank counts itself as a sleeper before it looks at the phase a last time. Either this rank's
// operation on the count comes after that, and sees the sleeper, or it comes before, and the
// sleeper sees the phase. arrive() cannot make sure of that without waiting for its store to reach
// the caches, while it could already wait for the others.
void PhaseBarrier::wake_sleepers() {
  Lines& own = lines_of(rank_);
  if (own.sleepers.fetch_add(0, std::memory_order_acq_rel) > 0) {
    futex_wake_all(own.lines[phase_ % 2].phase);
  }
}

// The others have read the line two phases ago, so this rank's core has taken it back from their
// caches. That takes 50 ns from a shared cache and 140 ns from another one (with 25 ns for the
// clock).
void PhaseBarrier::vote(std::chrono::nanoseconds taken) {
  constexpr std::chrono::nanoseconds kFar{95};
  votes_for_far_ = std::clamp(votes_for_far_ + (taken > kFar ? 1 : -1), 0, kVotes);
}

bool PhaseBarrier::is_far() const {
  return !std::ranges::all_of(lines_, [this](const Lines* lines) {
    return lines->lines[phase_ % 2].near.load(std::memory_order_relaxed);
  });
}

bool PhaseBarrier::is_crowded() const {
  return std::ranges::any_of(lines_, [this](const Lines* lines) {
    return lines->lines[phase_ % 2].crowded.load(std::memory_order_relaxed);
  });
}

const PhaseBarrier::Announcement& PhaseBarrier::announcement_of(int peer) const {
  return lines_of(peer).lines[phase_ % 2].announcement;
}

bool PhaseBarrier::has_arrived(int peer) const {
  return lines_of(peer).lines[phase_ % 2].phase.load(std::memory_order_acquire) == phase_;
}

// True if one of `peers` is missing that was last seen on this rank's core.
bool PhaseBarrier::is_due_here(Peers peers) const {
  const int here = lines_of(rank_).lines[phase_ % 2].core.load(std::memory_order_relaxed);
  for (int peer = peers.first; peer < peers.end; ++peer) {
    const Lines::Line& last = lines_of(peer).lines[(phase_ + 1) % 2];
    if (!has_arrived(peer) && last.core.load(std::memory_order_relaxed) == here) return true;
  }
  return false;
}

// True if this core has more than its share of the ranks, and this rank is the highest of those.
bool PhaseBarrier::is_one_too_many() const {
  const int here = lines_of(rank_).lines[phase_ % 2].core.load(std::memory_order_relaxed);
  int ranks_here = 1;
  for (int peer = 0; peer < static_cast<int>(lines_.size()); ++peer) {
    const auto& line = lines_of(peer).lines[(has_arrived(peer) ? phase_ : phase_ + 1) % 2];
    if (peer == rank_ || line.core.load(std::memory_order_relaxed) != here) continue;
    if (peer > rank_) return false;
    ++ranks_here;
  }
  return ranks_here > fair_share_;
}

// The scheduler leaves threads that yield to each other on one core, even while other cores are
// idle. So one of them moves. Two may choose the same core when they start, so the next move comes
// soon, and later ones at growing intervals, in case another job keeps the other cores busy. A move
// that has helped for long begins anew.
void PhaseBarrier::give_way() {
  const auto now = Clock::now();
  if (now >= next_move_ && is_one_too_many()) {
    if (now - next_move_ > kHelpsLong) until_next_move_ = kSoonestMoves;
    leave_core();
    next_move_ = Clock::now() + until_next_move_;
    until_next_move_ = std::min<std::chrono::microseconds>(2 * until_next_move_, kRarestMoves);
    lines_of(rank_).lines[phase_ % 2].core.store(static_cast<std::int16_t>(::sched_getcpu()),
                                                 std::memory_order_relaxed);
  } else {
    ::sched_yield();
  }
}

std::optional<int> PhaseBarrier::late(Peers peers) {
  int spins = 0;
  int yields = 0;
  for (int peer = peers.first; peer < peers.end;) {
    if (has_arrived(peer)) {
      ++peer;
    } else if (spins < kSpins && !is_due_here({.first = peer, .end = peers.end})) {
      pause();
      ++spins;
    } else if (yields < kYields) {
      if (yields == 0) wake_sleepers();
      give_way();
      ++yields;
    } else {
      return peer;
    }
  }
  wake_sleepers();
  complete_ = peers.end - peers.first + 1 >= static_cast<int>(lines_.size());  // with this rank
  return {};
}

bool PhaseBarrier::wait(int peer, const Deadline& deadline, const std::atomic<bool>& stop) const {
  Lines& theirs = lines_of(peer);
  const std::atomic<std::uint32_t>& word = theirs.lines[phase_ % 2].phase;
  while (!has_arrived(peer)) {
    if (stop.load(std::memory_order_acquire) || deadline.passed()) return false;
    const bool gone = host_->is_gone(locations_[static_cast<std::size_t>(peer)].rank);
    theirs.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = word.load(std::memory_order_seq_cst);
    if (seen != phase_ && !gone) futex_wait(word, seen, std::min(kSlice, deadline.left()));
    theirs.sleepers.fetch_sub(1, std::memory_order_relaxed);
    if (gone && !has_arrived(peer)) {
      throw TransportFailure(ErrorCode::peer_lost, "its process has ended");
    }
  }
  return true;
}

}  // namespace bp
