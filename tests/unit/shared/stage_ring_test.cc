#include "comm/backend/shared/stage_ring.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace bp {
namespace {

constexpr std::size_t kLongest = 64;

struct Piece {
  std::size_t begin;
  std::size_t end;
};
bool overlap(const Piece& a, const Piece& b) { return a.begin < b.end && b.begin < a.end; }

TEST(StageRing, NeverReturnsAnOffsetThatMayStillBeRead) {
  EXPECT_TRUE(rc::check("collectives of some chunk length and number of steps", [] {
    const auto collectives =
        *rc::gen::container<std::vector<std::tuple<std::size_t, std::size_t, bool>>>(
            rc::gen::tuple(rc::gen::inRange<std::size_t>(1, kLongest + 1),
                           rc::gen::inRange<std::size_t>(1, 20), rc::gen::arbitrary<bool>()));
    StageRing ring(kLongest);
    Piece last{0, 0};
    for (const auto& [chunk, steps, round] : collectives) {
      round ? ring.begin_round(chunk) : ring.begin(chunk);
      std::vector<Piece> pieces;
      for (std::size_t step = 0; step < steps; ++step) {
        const Piece piece{ring.offset(step), ring.offset(step) + chunk};
        RC_ASSERT(piece.end <= StageRing::kChunks * kLongest);
        const std::size_t before = std::min<std::size_t>(step, 2);
        for (std::size_t i = step - before; i < step; ++i) RC_ASSERT(!overlap(piece, pieces[i]));
        if (step == 0) RC_ASSERT(!overlap(piece, last));
        pieces.push_back(piece);
      }
      last = pieces.back();
      ring.end(steps);
    }
  }));
}

TEST(StageRing, UsesFewBytes) {
  StageRing ring(kLongest);
  for (std::size_t i = 0; i < 9; ++i) {
    ring.begin(4);
    EXPECT_EQ(ring.offset(0), i % StageRing::kChunks * 4);
    ring.end(1);
  }
}

TEST(StageRing, ReturnsToAnOffsetOnlyAfterAFullRound) {
  StageRing ring(kLongest);
  std::vector<std::size_t> places;
  for (int i = 0; i < 9; ++i) {
    ring.begin_round(kLongest / 2);
    places.push_back(ring.offset(0));
    ring.end(1);
  }
  EXPECT_EQ(places, (std::vector<std::size_t>{0, 32, 64, 96, 128, 160, 192, 224, 0}));
}

}  // namespace
}  // namespace bp
