// Line charts as HTML: an SVG that stretches to any width, with its text outside it, so that it is
// readable on a phone and on a large screen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer {

struct Series {
  enum class Look : std::uint8_t {
    line,
    noisy,   // a smoothed line over a faint exact one
    dots,    // a line with a dot at each point; for few points
    smooth,  // the smoothed line alone, where several curves share a chart
  };

  std::string name = {};
  Look look = Look::line;
  std::vector<double> x = {};  // ascending
  std::vector<double> y = {};  // one per x; a value that is not finite is a gap
};

// A vertical line with a word beside it.
struct Mark {
  double x = 0;
  std::string text = {};
};

struct Chart {
  std::string title = {};  // for readers who cannot see the chart
  std::string x_name = "step";
  std::vector<Series> series = {};
  // The series are of different runs, at most kMostRunColours: more colours, and lines that differ
  // without them too. Otherwise there are at most three.
  bool of_runs = false;
  std::vector<Mark> marks = {};  // those outside the curves' range are left out
};

inline constexpr std::size_t kMostRunColours = 16;

// Returns the CSS class of the k-th run's curve.
[[nodiscard]] std::string run_colour(std::size_t k);
// Returns a piece of this curve, for a legend or a table, as HTML.
[[nodiscard]] std::string curve_sample(const std::string& css_class);

// Returns a <figure>, which says so if there is nothing finite to draw. Draws long series as the
// means of neighbouring points.
[[nodiscard]] std::string render_chart(const Chart& chart);

// The range of an axis.
struct Range {
  double low = 0;
  double high = 0;
};
[[nodiscard]] std::vector<double> round_ticks(const Range& range, int count);

}  // namespace bp::trainer
