// Charts as data. On a page each is an SVG that stretches to any width, with its text outside it,
// so that it is readable on a phone and on a large screen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bp {

struct Series {
  enum class Look : std::uint8_t {
    line,
    noisy,   // a smoothed line over a faint exact one
    dots,    // a line with a dot at each point; for few points
    smooth,  // the smoothed line alone, where several curves share a chart
    points,  // dots alone, in any order
  };

  std::string name = {};
  Look look = Look::line;
  std::vector<double> x = {};           // ascending
  std::vector<double> y = {};           // one per x; a value that is not finite is a gap
  std::vector<std::string> notes = {};  // of points: what the pointer shows, one per x
};

// A vertical line with a word beside it.
struct Mark {
  double x = 0;
  std::string text = {};
};

struct Tick {
  double at = 0;
  std::string text = {};
};

// The range of an axis.
struct Range {
  double low = 0;
  double high = 0;
};

struct Chart {
  std::string title = {};    // for readers who cannot see the chart
  std::string heading = {};  // above a small chart
  std::string x_name = "step";
  std::vector<Series> series = {};
  // The series are of different runs, at most kMostRunColours: more colours, and lines that differ
  // without them too. Otherwise there are at most three.
  bool of_runs = false;
  std::vector<Mark> marks = {};       // those outside the curves' range are left out
  std::optional<Range> x_range = {};  // none: that of the series, with round ticks
  std::vector<Tick> x_ticks = {};     // of x_range
};

// Lines over several axes, each from 0 to 1 upwards.
struct ParallelCoordinates {
  struct Pole {
    std::string name = {};
    std::vector<Tick> ticks = {};
  };
  struct Line {
    std::vector<std::optional<double>> at = {};  // one per pole; none: the line has a gap there
    std::string note = {};                       // what the pointer shows
  };
  std::vector<Pole> poles = {};
  std::vector<Line> lines = {};  // the best first, which stands out; the better, the stronger
};

inline constexpr std::size_t kMostRunColours = 16;

// Returns a piece of the k-th run's curve, for a legend or a table, as HTML.
[[nodiscard]] std::string run_sample(std::size_t k);

// Returns a <figure>, which says so if there is nothing finite to draw. Draws long series as the
// means of neighbouring points.
[[nodiscard]] std::string render_chart(const Chart& chart);
[[nodiscard]] std::string render_parallel(const ParallelCoordinates& parallel);

[[nodiscard]] std::vector<double> round_ticks(const Range& range, int count);

}  // namespace bp
