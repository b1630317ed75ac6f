// Line charts as HTML: an SVG that stretches to any width, with its lettering beside it, so that it
// is as readable on a telephone as on a desk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer {

struct Series {
  enum class Look : std::uint8_t {
    line,
    noisy,  // a smoothed line over a faint exact one
    dots,   // joined, for few points
  };

  std::string name = {};
  Look look = Look::line;
  std::vector<double> x = {};  // ascending
  std::vector<double> y = {};  // one an x; what is not finite is a gap
};

struct Chart {
  std::string title = {};  // for those who cannot see it
  std::string x_name = "step";
  std::vector<Series> series = {};  // at most three
};

// A <figure>; says so where nothing finite is there to draw. Long series are drawn as the means of
// neighbouring points.
[[nodiscard]] std::string render_chart(const Chart& chart);

// Round numbers (1, 2, 5 times a power of ten apart) that lie in [low, high], about `count` of
// them.
struct Range {
  double low = 0;
  double high = 0;
};
[[nodiscard]] std::vector<double> round_ticks(const Range& range, int count);

}  // namespace bp::trainer
