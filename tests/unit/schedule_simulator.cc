#include "tests/unit/schedule_simulator.h"

#include <deque>
#include <map>
#include <utility>

#include "base/text.h"

namespace bp {
namespace {

using Use = SimulatedTransfer::Use;

std::uint64_t mix(std::uint64_t left, std::uint64_t right) {
  std::uint64_t x = left * 0x9e3779b97f4a7c15U + (right ^ (right >> 29)) * 0xbf58476d1ce4e5b9U + 1;
  x ^= x >> 32;
  return x * 0x94d049bb133111ebU;
}

struct RankState {
  std::size_t step = 0;
  std::size_t open = 0;  // transfers of this step that are not complete
  std::vector<std::pair<SimulatedTransfer, Cell>> arrived;  // to be reduced at the end of the step
};

struct Link {  // from one rank to another, in order
  std::deque<SimulatedTransfer> sends;
  std::deque<SimulatedTransfer> receives;
};

class Simulation {
 public:
  Simulation(const std::vector<Program>& programs, std::vector<Memory>& memory)
      : programs_(programs), memory_(memory), ranks_(programs.size()) {}

  std::string run(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t r = 0; r < ranks_.size(); ++r) post(r);
    while (true) {
      std::vector<std::pair<int, int>> ready;
      for (const auto& [ends, link] : links_) {
        if (!link.sends.empty() && !link.receives.empty()) ready.push_back(ends);
      }
      if (ready.empty()) return rest();
      if (std::string wrong = deliver(ready[random() % ready.size()]); !wrong.empty()) return wrong;
    }
  }

 private:
  // Posts the step of rank r, and the following ones while there is nothing to wait for.
  void post(std::size_t r) {
    RankState& state = ranks_[r];
    for (; state.step < programs_[r].size(); ++state.step) {
      const SimulatedStep& step = programs_[r][state.step];
      const int rank = static_cast<int>(r);
      for (const auto& send : step.sends) links_[{rank, send.peer}].sends.push_back(send);
      for (const auto& take : step.receives) links_[{take.peer, rank}].receives.push_back(take);
      state.open = step.sends.size() + step.receives.size();
      if (state.open > 0) return;
    }
  }

  void complete_one(std::size_t r) {
    RankState& state = ranks_[r];
    if (--state.open > 0) return;
    for (const auto& [transfer, value] : state.arrived) {
      Cell& cell = memory_[r][static_cast<std::size_t>(transfer.cell)];
      cell = transfer.use == Use::lower ? combine(value, cell) : combine(cell, value);
    }
    state.arrived.clear();
    ++state.step;
    post(r);
  }

  std::string deliver(std::pair<int, int> ends) {
    Link& link = links_[ends];
    const SimulatedTransfer send = link.sends.front();
    const SimulatedTransfer take = link.receives.front();
    link.sends.pop_front();
    link.receives.pop_front();
    const auto from = static_cast<std::size_t>(ends.first);
    const auto to = static_cast<std::size_t>(ends.second);
    if (send.cell != take.cell) {
      return concat("rank ", from, " sent cell ", send.cell, " where rank ", to, " expected cell ",
                    take.cell);
    }
    const Cell value = memory_[from][static_cast<std::size_t>(send.cell)];
    if (value.times.empty()) {
      return concat("rank ", from, " sent cell ", send.cell, " to rank ", to,
                    " and had nothing in it");
    }
    if (take.use == Use::replace) {
      memory_[to][static_cast<std::size_t>(take.cell)] = value;
    } else {
      ranks_[to].arrived.emplace_back(take, value);
    }
    complete_one(from);
    complete_one(to);
    return {};
  }

  std::string rest() const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].step < programs_[r].size()) {
        return concat("rank ", r, " waits for ever at step ", ranks_[r].step, " of ",
                      programs_[r].size());
      }
    }
    return {};
  }

  const std::vector<Program>& programs_;
  std::vector<Memory>& memory_;
  std::vector<RankState> ranks_;
  std::map<std::pair<int, int>, Link> links_;
};

}  // namespace

Cell combine(const Cell& lower, const Cell& upper) {
  Cell result{lower.times, mix(lower.expression, upper.expression)};
  for (std::size_t r = 0; r < upper.times.size(); ++r) result.times[r] += upper.times[r];
  return result;
}

Memory own_data(int rank, int ranks, int cells) {
  Cell cell{std::vector<int>(static_cast<std::size_t>(ranks), 0),
            mix(static_cast<unsigned>(rank), 17)};
  cell.times[static_cast<std::size_t>(rank)] = 1;
  return Memory(static_cast<std::size_t>(cells), cell);
}

std::string simulate(const std::vector<Program>& programs,
                     std::vector<Memory>& memory,
                     std::uint64_t seed) {
  return Simulation(programs, memory).run(seed);
}

}  // namespace bp
