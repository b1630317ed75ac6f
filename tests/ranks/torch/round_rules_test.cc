// What rounds, in which hosts exchange weights (Sync), make of the weights: beside the formulas of
// the methods' authors in double precision.
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/torch/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/lines.h"
#include "tests/ranks/torch/sharded_training.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::Lines;
using test::run_ranks;

// What a rule makes of the common weight and the mean difference; it may keep a momentum.
using Rule = std::function<double(double x, double d)>;

struct NamedRule {
  std::string name;
  OuterRule outer;
  std::function<Rule()> published;  // as the method's authors write it
};

std::vector<NamedRule> rules() {
  return {{"local SGD", kLocalSgd, [] { return [](double x, double d) { return x - d; }; }},
          {"BMUF", kBlockMomentum,
           [] {
             return [s = 0.0](double x, double d) mutable {
               s = 0.875 * s + d;
               return x - s;
             };
           }},
          {"BMUF with another block rate",
           {.rate = 0.5, .momentum = 0.875},
           [] {
             return [s = 0.0](double x, double d) mutable {
               s = 0.875 * s + 0.5 * d;
               return x - s;
             };
           }},
          {"DiLoCo", kDiLoCo, [] {
             return [b = 0.0](double x, double d) mutable {
               b = 0.9 * b + d;
               return x - 0.7 * (d + 0.9 * b);
             };
           }}};
}

// The weights of hosts of one rank each in double precision.
class Simulation {
 public:
  Simulation(const NamedRule& rule, std::vector<double> weights, const Sync& sync, int lines)
      : weights_(std::move(weights)), sync_(sync), lines_(lines) {
    for (int line = 0; line < lines; ++line) {
      for (int i = 0; i < Lines::kElements; ++i) {
        elements_.push_back({.line = line,
                             .i = i,
                             .rule = rule.published(),
                             .common = Lines::first(line, i),
                             .now = std::vector(weights_.size(), Lines::first(line, i))});
      }
    }
  }

  void step(int number) {
    for (Element& e : elements_) {
      e.is_trained = true;
      for (std::size_t host = 0; host < weights_.size(); ++host) {
        if (weights_[host] == 0) continue;
        e.now[host] -= Lines::kRate * Lines::gradient(static_cast<int>(host), number, e.line, e.i);
      }
    }
    if (++steps_ < (next_ + 1) * sync_.every / sync_.fragments) return;
    receive();
    send(next_);
    if (!sync_.late) receive();
    next_ = (next_ + 1) % sync_.fragments;
    if (next_ == 0) steps_ = 0;
  }

  void synchronise() {
    receive();
    for (int fragment = 0; fragment < sync_.fragments; ++fragment) {
      send(fragment);
      receive();
    }
  }

  [[nodiscard]] double distance(const std::vector<at::Tensor>& all, int host) const {
    double most = 0;
    for (const Element& e : elements_) {
      const double there = all[static_cast<std::size_t>(e.line)][e.i].item<double>();
      most = std::max(most, std::abs(there - e.now[static_cast<std::size_t>(host)]));
    }
    return most;
  }

 private:
  struct Element {
    int line;
    int i;
    Rule rule;
    double common;
    std::vector<double> now;        // on each host
    bool is_trained = false;        // since it was sent
    std::vector<double> sent = {};  // by each host
    double mean = 0;                // of the differences that were sent
  };

  void send(int fragment) {
    const double all = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    for (Element& e : elements_) {
      if (e.line * sync_.fragments / lines_ != fragment || !e.is_trained) continue;
      e.is_trained = false;
      e.mean = 0;
      for (std::size_t host = 0; host < weights_.size(); ++host) {
        e.mean += weights_[host] / all * (e.common - e.now[host]);
      }
      e.sent = e.now;
    }
  }

  void receive() {
    for (Element& e : elements_) {
      if (e.sent.empty()) continue;
      e.common = e.rule(e.common, e.mean);
      for (std::size_t host = 0; host < weights_.size(); ++host) {
        e.now[host] = e.common + (e.now[host] - e.sent[host]);
      }
      e.sent.clear();
    }
  }

  const std::vector<double> weights_;
  const Sync sync_;
  const int lines_;
  std::vector<Element> elements_;
  std::int64_t steps_ = 0;
  int next_ = 0;
};

// docs/acceptance.md, Rounds: Local SGD, BMUF and DiLoCo make of hosts with 5, 2 and 0 rows what
// their authors write, to 1e-6: at once, late, in fragments, and both.
TEST(RoundRules, MakeOfWeightsWhatEachMethodSays) {
  constexpr int kLines = 4;
  constexpr int kSteps = 14;
  const std::vector<double> weights = {5, 2, 0};
  for (const NamedRule& rule : rules()) {
    for (Sync sync :
         {Sync{.every = 3}, Sync{.every = 3, .late = true}, Sync{.every = 1, .late = true},
          Sync{.every = 5, .fragments = 4}, Sync{.every = 4, .fragments = 2},
          Sync{.every = 6, .late = true, .fragments = 4}}) {
      sync.outer = rule.outer;
      run_ranks(
          3,
          [&](Communicator& world) {
            Lines lines(world, sync, kLines);
            Simulation right(rule, weights, sync, kLines);
            for (int step = 0; step < kSteps; ++step) {
              lines.step(world.rank(), step, weights[static_cast<std::size_t>(world.rank())]);
              right.step(step);
              EXPECT_LT(right.distance(lines.all, world.rank()), 2e-6)
                  << rule.name << ", every " << sync.every << (sync.late ? ", late, " : ", ")
                  << sync.fragments << " fragments, step " << step << " on rank " << world.rank();
            }
            lines.optimizer->synchronise();
            right.synchronise();
            EXPECT_LT(right.distance(lines.all, world.rank()), 2e-6) << rule.name;
            EXPECT_TRUE(lines.optimizer->is_common());
            test::expect_equal_on_all_ranks(world, test::bits(lines.all));
          },
          test::shared_on({1, 1, 1}));
    }
  }
}

// docs/acceptance.md, Rounds: One rank with an outer rule takes the steps of that rule (SNOO).
TEST(RoundRules, OneRankTakesTheOuterSteps) {
  for (const NamedRule& rule : rules()) {
    for (const bool late : {false, true}) {  // nothing is late on one host
      run_ranks(1, [&](Communicator& world) {
        Lines lines(world, {.every = 2, .outer = rule.outer, .late = late});
        EXPECT_EQ(lines.optimizer->has_rounds(), rule.outer != kLocalSgd) << rule.name;
        Simulation right(rule, {3}, {.every = 2}, 1);
        for (int step = 0; step < 8; ++step) {
          lines.step(0, step, 3);
          right.step(step);
        }
        EXPECT_LT(right.distance(lines.all, 0), 1e-6) << rule.name;
      });
    }
  }
}

// docs/acceptance.md, Rounds: In a round all weights, or one of four fragments in each second of
// eight steps, become common, and no others.
TEST(RoundRules, ExchangeEachFragmentOnce) {
  for (const int fragments : {1, 4}) {
    run_ranks(
        2,
        [&](Communicator& world) {
          Lines lines(world, {.every = 8, .fragments = fragments}, 4);
          for (int step = 0; step < 24; ++step) {
            const bool is_due = (step + 1) % (8 / fragments) == 0;
            EXPECT_EQ(lines.optimizer->ends_round(), is_due);
            lines.step(world.rank(), step, 1 + world.rank());
            EXPECT_EQ(lines.optimizer->ended_round(), is_due);
            EXPECT_EQ(lines.optimizer->is_common(), is_due && fragments == 1);
            for (int line = 0; line < 4; ++line) {
              const at::Tensor own = lines.all[static_cast<std::size_t>(line)].detach().clone();
              at::Tensor of_0 = own.clone();
              broadcast(world, view_of(of_0));
              const bool is_sent =
                  is_due && (fragments == 1 || (step + 1) / 2 % 4 == (line + 1) % 4);
              if (world.rank() == 1) {
                EXPECT_EQ(at::equal(own, of_0), is_sent) << "line " << line << ", step " << step;
              }
            }
          }
        },
        test::shared_on({1, 1}));
  }
}

}  // namespace
}  // namespace bp
