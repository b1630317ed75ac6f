#include "base/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "base/joined.h"
#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/text.h"

namespace bp {
namespace {

constexpr std::size_t kMostPoints = 300;    // more points would not be visible
constexpr std::ptrdiff_t kSmoothFrom = 40;  // number of points; shorter curves are not smoothed
constexpr double kSide = 1000;              // width and height in the SVG's own coordinates
constexpr int kTicks = 4;
constexpr double kMargin = 0.05;  // share of the range, above and below the curves
constexpr std::array<const char*, 3> kColours = {"first", "second", "third"};

Series thinned(const Series& series) {
  const std::size_t points = series.x.size();
  if (points <= kMostPoints || series.look == Series::Look::points) return series;
  Series out{.name = series.name, .look = series.look};
  for (std::size_t k = 0; k < kMostPoints; ++k) {
    const std::size_t begin = k * points / kMostPoints;
    const std::size_t end = (k + 1) * points / kMostPoints;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += series.y[i];
    }
    out.x.push_back(series.x[end - 1]);
    out.y.push_back(sum / static_cast<double>(end - begin));
  }
  return out;
}

// Replaces each point by the mean of its neighbourhood, weighted by nearness. Values that are not
// finite stay.
Series smoothed(Series series) {
  const std::vector<double> exact = series.y;
  const auto points = static_cast<std::ptrdiff_t>(exact.size());
  const std::ptrdiff_t reach = points / kSmoothFrom + 2;
  for (std::ptrdiff_t i = 0; i < points; ++i) {
    double sum = 0;
    double weights = 0;
    for (std::ptrdiff_t k = std::max(i - reach, std::ptrdiff_t{0});
         k <= std::min(i + reach, points - 1); ++k) {
      const double y = exact[static_cast<std::size_t>(k)];
      const auto weight = static_cast<double>(reach + 1 - std::abs(i - k));
      sum += std::isfinite(y) ? weight * y : 0;
      weights += std::isfinite(y) ? weight : 0;
    }
    double& y = series.y[static_cast<std::size_t>(i)];
    y = std::isfinite(y) ? sum / weights : y;
  }
  return series;
}

struct Frame {
  Range x;
  Range y;
};

void include(Range& range, double value) {
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

Frame frame_of(const std::vector<Series>& all, const std::optional<Range>& x_range) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Frame frame{.x = {kInfinity, -kInfinity}, .y = {kInfinity, -kInfinity}};
  for (const Series& series : all) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      include(frame.x, series.x[i]);
      include(frame.y, series.y[i]);
    }
  }
  if (x_range) frame.x = *x_range;
  if (frame.x.low == frame.x.high) frame.x.high += 1;
  const double height = frame.y.high - frame.y.low;
  const double margin = height > 0 ? height * kMargin : std::max(std::abs(frame.y.low), 1.0) / 2;
  // The axis does not go below 0 unless a value does.
  frame.y.low = frame.y.low >= 0 ? std::max(frame.y.low - margin, 0.0) : frame.y.low - margin;
  frame.y.high += margin;
  return frame;
}

double share(const Range& range, double value) {
  return (value - range.low) / (range.high - range.low);
}

std::string coordinate(double share_of_side) { return fixed(kSide * share_of_side, 1); }

// From shares of the width and, upwards, of the height.
std::string point_text(double x, double y) { return coordinate(x) + ' ' + coordinate(1 - y); }

std::string tooltip(const std::string& note) { return concat("<title>", html(note), "</title>"); }

// A stroke of length 0 with round ends is a dot, however the drawing is stretched.
constexpr const char* kDot = "h0";

std::string path_of(const Series& series, const Frame& frame, bool dots) {
  std::string path;
  bool pen_down = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i])) {
      pen_down = false;
      continue;
    }
    path += (pen_down ? 'L' : 'M') +
            point_text(share(frame.x, series.x[i]), share(frame.y, series.y[i]));
    path += dots || (!pen_down && series.x.size() == 1) ? kDot : "";
    pen_down = !dots;
  }
  return path;
}

std::string points_of(const Series& series, const Frame& frame, const std::string& colour) {
  std::string out;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    out += concat("<path class=\"", colour, " points\" d=\"M",
                  point_text(share(frame.x, series.x[i]), share(frame.y, series.y[i])), kDot, "\">",
                  i < series.notes.size() ? tooltip(series.notes[i]) : "", "</path>");
  }
  return out;
}

std::string values_text(const std::vector<double>& values) {
  return joined(values, " ", [](double value) { return brief(value); });
}

std::string draw(const Series& series, const Frame& frame, const std::string& colour) {
  const auto path = [&](const Series& what, const char* look, const std::string& data) {
    const bool dots = std::string_view(look) == " dots";
    return concat("<path class=\"", colour, look, "\"", data, " d=\"", path_of(what, frame, dots),
                  "\"/>");
  };
  const std::string data =
      concat(" data-name=\"", html(series.name), "\" data-x=\"", values_text(series.x),
             "\" data-y=\"", values_text(series.y), '"');
  if (series.look == Series::Look::points) return points_of(series, frame, colour);
  if (series.look == Series::Look::dots) {
    return path(series, "", data) + path(series, " dots", "");
  }
  if (series.look == Series::Look::smooth && std::ssize(series.x) >= kSmoothFrom) {
    return path(smoothed(series), "", data);
  }
  if (series.look == Series::Look::noisy && std::ssize(series.x) >= kSmoothFrom) {
    return path(series, " faint", data) + path(smoothed(series), "", "");
  }
  return path(series, "", data);
}

std::string values_of(const Series& series, const std::string& x_name) {
  Table table{.columns = {{x_name}, {series.name}}};
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    table.add({brief(series.x[i]), brief(series.y[i])});
  }
  return table_html(table);
}

bool is_drawn(const Series& series) {
  return std::ranges::any_of(series.y, [](double y) { return std::isfinite(y); });
}

std::string span(const char* side, double percent, const std::string& text) {
  return concat("<span style=\"", side, ':', fixed(percent, 2), "%\">", html(text), "</span>");
}

std::vector<Tick> x_ticks_of(const Chart& chart, const Range& range) {
  if (chart.x_range) return chart.x_ticks;
  std::vector<Tick> ticks;
  for (const double tick : round_ticks(range, kTicks)) ticks.push_back({tick, brief(tick)});
  return ticks;
}

std::string open_svg(const std::string& attributes) {
  return concat("<svg ", attributes, " viewBox=\"0 0 ", kSide, ' ', kSide,
                "\" preserveAspectRatio=\"none\">");
}

// Returns the CSS class of the k-th run's curve.
std::string run_colour(std::size_t k) {
  constexpr std::size_t kHues = 8;
  constexpr std::size_t kOfOnePattern = 4;
  constexpr std::array kPatterns = {"", " dashed", " dotted", " long-dashed"};
  return concat("run run-", k % kHues + 1, kPatterns[k / kOfOnePattern % kPatterns.size()]);
}

}  // namespace

std::vector<double> round_ticks(const Range& range, int count) {
  const double wanted = (range.high - range.low) / std::max(count, 1);
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  constexpr std::array kSteps = {1.0, 2.0, 2.5, 5.0, 10.0};
  const double step = power * *std::ranges::lower_bound(kSteps, std::min(wanted / power, 10.0));
  std::vector<double> ticks;
  // At most count + 1, because a step that is tiny beside its numbers does not change them.
  const double first = std::ceil(range.low / step);
  for (int i = 0; i <= count && (first + i) * step <= range.high; ++i) {
    ticks.push_back((first + i) * step);
  }
  return ticks;
}

std::string run_sample(std::size_t k) {
  return concat("<svg class=\"sample\" viewBox=\"0 0 30 8\" aria-hidden=\"true\"><path class=\"",
                run_colour(k), "\" d=\"M1 4H29\"/></svg>");
}

std::string render_chart(const Chart& chart) {
  std::vector<Series> all;
  bool points = false;
  for (const Series& series : chart.series) {
    all.push_back(thinned(series));
    points |= series.look == Series::Look::points;
  }
  const Frame frame = frame_of(all, chart.x_range);
  if (!std::isfinite(frame.y.high)) {
    return concat("<figure><p class=\"quiet\">", html(chart.title),
                  ": no values to draw.</p></figure>");
  }
  std::string grid;
  std::string y_ticks;
  for (const double tick : round_ticks(frame.y, kTicks)) {
    const double height = share(frame.y, tick);
    grid += concat("M0 ", coordinate(1 - height), 'H', kSide);
    // The hidden copy gives the column its width.
    y_ticks += concat("<b>", brief(tick), "</b><br>", span("bottom", 100 * height, brief(tick)));
  }
  std::string x_ticks;
  for (const Tick& tick : x_ticks_of(chart, frame.x)) {
    x_ticks += span("left", 100 * share(frame.x, tick.at), tick.text);
  }
  std::string curves;
  std::string marks;
  for (const Mark& mark : chart.marks) {
    const double place = share(frame.x, mark.x);
    if (!(place >= 0 && place <= 1)) continue;
    curves += concat("<path class=\"mark\" d=\"M", coordinate(place), " 0V", kSide, "\"/>");
    marks += concat("<span class=\"mark", place > 0.5 ? " left" : "",
                    "\" style=\"left:", fixed(100 * place, 2), "%\">", html(mark.text), "</span>");
  }
  std::string legend;
  std::string values;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string colour = chart.of_runs ? run_colour(k) : kColours[k % kColours.size()];
    curves += draw(all[k], frame, colour);
    if (!is_drawn(all[k])) continue;
    legend += chart.of_runs
                  ? concat("<li>", run_sample(k), html(all[k].name), "</li>")
                  : concat("<li class=\"", colour, "\"><i></i>", html(all[k].name), "</li>");
    if (!points) values += values_of(all[k], chart.x_name);
  }
  return concat(
      "<figure>", all.size() > 1 && !points ? concat("<ul class=\"legend\">", legend, "</ul>") : "",
      "<div class=\"chart\"><div class=\"y-ticks\" aria-hidden=\"true\">", y_ticks,
      "</div><div class=\"plot\" data-unit=\"", html(chart.x_name), "\" data-from=\"",
      fixed(frame.x.low, 6), "\" data-to=\"", fixed(frame.x.high, 6), "\">",
      open_svg(concat("role=\"img\" aria-label=\"", html(chart.title), '"')),
      "<path class=\"grid\" d=\"", grid, "\"/>", curves, "</svg>", marks,
      "</div><div class=\"x-ticks", chart.x_range ? " centred" : "", "\" aria-hidden=\"true\">",
      x_ticks, "</div><div class=\"x-name\">", html(chart.x_name), "</div></div>",
      points ? "" : concat("<details><summary>Values</summary>", values, "</details>"),
      "</figure>\n");
}

std::string render_parallel(const ParallelCoordinates& parallel) {
  const std::size_t poles = parallel.poles.size();
  const auto place = [&](std::size_t pole) {
    return static_cast<double>(pole) / static_cast<double>(std::max<std::size_t>(poles, 2) - 1);
  };
  std::string drawing;
  std::string labels;
  for (std::size_t i = 0; i < poles; ++i) {
    drawing += concat("<path class=\"pole\" d=\"M", point_text(place(i), 0), "V0\"/>");
    labels += concat("<div class=\"pole\" style=\"left:", fixed(100 * place(i), 2), "%\"><b>",
                     html(parallel.poles[i].name), "</b>");
    for (const Tick& tick : parallel.poles[i].ticks) {
      labels += span("bottom", 100 * tick.at, tick.text);
    }
    labels += "</div>";
  }
  const std::size_t lines = parallel.lines.size();
  for (std::size_t rank = lines; rank-- > 0;) {  // the best lies on top
    const ParallelCoordinates::Line& line = parallel.lines[rank];
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < poles; ++i) {
      if (line.at[i]) path += (pen_down ? 'L' : 'M') + point_text(place(i), *line.at[i]);
      pen_down = line.at[i].has_value();
    }
    const double strength =
        lines < 2 ? 1 : 1 - static_cast<double>(rank) / static_cast<double>(lines - 1);
    drawing += concat("<path class=\"through", rank == 0 ? " best" : "",
                      "\" style=\"--share:", fixed(strength, 3), "\" d=\"", path, "\">",
                      tooltip(line.note), "</path>");
  }
  return concat("<div class=\"scroll wide\"><div class=\"parallel\" style=\"min-width:", 88 * poles,
                "px\"><div class=\"plot\">", open_svg("aria-hidden=\"true\""), drawing, "</svg>",
                labels, "</div></div></div>");
}

}  // namespace bp
