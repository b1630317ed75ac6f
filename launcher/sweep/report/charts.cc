#include "launcher/sweep/report/charts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "launcher/sweep/report/plot_axis.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kMostDrawn = 1000;  // trials in one chart

// A point of a drawing of 1000 x 1000, from a position from 0 to 1 to the right and upwards.
std::string point_text(double x, double y) {
  return concat(std::lround(1000 * x), " ", std::lround(1000 * (1 - y)));
}

std::string open_svg() {
  return "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
}

std::vector<const PageTrial*> drawn_trials(const PageData& page) {
  std::vector<const PageTrial*> drawn;
  for (const PageTrial& trial : page.trials) {
    if (trial.result && std::isfinite(*trial.result)) drawn.push_back(&trial);
    if (drawn.size() == kMostDrawn) break;
  }
  return drawn;
}

PlotAxis result_axis(const std::vector<const PageTrial*>& trials) {
  std::vector<double> results;
  for (const PageTrial* trial : trials) results.push_back(*trial->result);
  return PlotAxis::of_numbers(results, false);
}

std::string grid_lines(const PlotAxis& y) {
  std::string lines;
  for (const auto& [at, text] : y.ticks()) {
    lines += concat("M", point_text(0, at), "H1000");
  }
  return concat("<path class=\"grid\" d=\"", lines, "\"/>");
}

// The drawing between its axes.
std::string framed(const PlotAxis& x, const PlotAxis& y, const std::string& drawing) {
  std::string y_texts;
  std::string widest;
  for (const auto& [at, text] : y.ticks()) {
    y_texts +=
        concat("<span style=\"bottom:", short_number(100 * at), "%\">", html_text(text), "</span>");
    if (text.size() > widest.size()) widest = text;
  }
  std::string x_texts;
  for (const auto& [at, text] : x.ticks()) {
    x_texts +=
        concat("<span style=\"left:", short_number(100 * at), "%\">", html_text(text), "</span>");
  }
  return concat("<div class=\"chart\"><div class=\"y\"><b>", html_text(widest), "</b>", y_texts,
                "</div><div class=\"plot\">", open_svg(), grid_lines(y), drawing,
                "</svg></div><div class=\"x", x.has_categories() ? " words" : "", "\">", x_texts,
                "</div></div>");
}

// 1 for the best of `count` trials, 0 for the worst.
double rank_share(std::size_t rank, std::size_t count) {
  return count < 2 ? 1 : 1 - static_cast<double>(rank) / static_cast<double>(count - 1);
}

std::string tooltip(const PageData& page, const PageTrial& trial) {
  return concat("<title>trial ", trial.number, ": ", html_text(page.metric), " ",
                short_number(*trial.result), "\n", html_text(shown(trial.parameters)), "</title>");
}

std::string marked_class(std::size_t rank, const std::string& name) {
  return concat("class=\"", name, rank == 0 ? " best\"" : "\"");
}

std::string scatter(const PageData& page,
                    const std::vector<const PageTrial*>& trials,
                    const std::string& name) {
  const PlotAxis x = PlotAxis::of_parameter(page.trials, name);
  const PlotAxis y = result_axis(trials);
  std::string dots;
  for (std::size_t rank = trials.size(); rank-- > 0;) {  // the best lies on top
    const PageTrial& trial = *trials[rank];
    auto at = x.position(find_value(trial.parameters, name));
    if (!at) continue;
    // Trials with the same category lie beside each other.
    if (x.has_categories()) *at += 0.012 * (static_cast<double>(trial.number * 7 % 11) - 5) / 2;
    dots += concat("<path ", marked_class(rank, "dot"), " d=\"M",
                   point_text(*at, y.position(*trial.result)), "h0\">", tooltip(page, trial),
                   "</path>");
  }
  return concat("<figure><figcaption>", html_text(name), "</figcaption>", framed(x, y, dots),
                "</figure>");
}

// The labels of one axis of the parallel coordinates, which stands at `left` percent.
std::string axis_labels(const PlotAxis& axis, const std::string& name, double left) {
  std::string text = concat("<div class=\"axis\" style=\"left:", short_number(left), "%\"><b>",
                            html_text(name), "</b>");
  for (const auto& [at, tick] : axis.ticks()) {
    text +=
        concat("<span style=\"bottom:", short_number(100 * at), "%\">", html_text(tick), "</span>");
  }
  return text + "</div>";
}

}  // namespace

std::string learning_curves(const PageData& page) {
  std::vector<double> steps;
  std::vector<double> values;
  for (const PageTrial& trial : page.trials) {
    for (const Report& report : trial.reports) {
      if (!std::isfinite(report.value)) continue;
      steps.push_back(static_cast<double>(report.step));
      values.push_back(report.value);
    }
  }
  if (steps.empty()) return "";
  const PlotAxis x = PlotAxis::of_numbers(steps, false);
  const PlotAxis y = PlotAxis::of_numbers(values, false);
  std::string lines;
  std::string legend;
  std::size_t curve = 0;
  for (const PageTrial& trial : page.trials) {
    std::string path;
    for (const Report& report : trial.reports) {
      if (!std::isfinite(report.value)) continue;
      path += concat(
          path.empty() ? "M" : "L",
          point_text(x.position(static_cast<double>(report.step)), y.position(report.value)));
    }
    if (path.empty()) continue;
    if (path.find('L') == std::string::npos) path += "h0";
    ++curve;
    lines += concat("<path class=\"curve c", curve, "\" d=\"", path, "\"/>");
    legend += concat("<li class=\"c", curve, "\"><i></i>trial ", trial.number, ": ",
                     short_number(trial.result.value_or(0)), "</li>");
  }
  return concat("<ul class=\"legend\">", legend, "</ul>", framed(x, y, lines),
                "<p class=\"quiet right\">step</p>");
}

std::string parallel_coordinates(const PageData& page) {
  const auto trials = drawn_trials(page);
  const auto names = parameter_names(page.trials);
  if (trials.size() < 2 || names.empty()) return "";
  std::vector<PlotAxis> axes;
  for (const std::string& name : names) {
    axes.push_back(PlotAxis::of_parameter(page.trials, name));
  }
  axes.push_back(result_axis(trials));
  const auto place = [&](std::size_t axis) {
    return static_cast<double>(axis) / static_cast<double>(names.size());
  };
  std::string drawing;
  std::string labels;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    drawing += concat("<path class=\"pole\" d=\"M", point_text(place(i), 0), "V0\"/>");
    labels += axis_labels(axes[i], i < names.size() ? names[i] : page.metric, 100 * place(i));
  }
  for (std::size_t rank = trials.size(); rank-- > 0;) {
    const PageTrial& trial = *trials[rank];
    std::string path;
    bool gap = true;  // a parameter that the trial does not have interrupts its line
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto at = i < names.size() ? axes[i].position(find_value(trial.parameters, names[i]))
                                       : axes[i].position(*trial.result);
      if (at) path += concat(gap ? "M" : "L", point_text(place(i), *at));
      gap = !at;
    }
    drawing += concat("<path ", marked_class(rank, "line"),
                      " style=\"--share:", short_number(rank_share(rank, trials.size())), "\" d=\"",
                      path, "\">", tooltip(page, trial), "</path>");
  }
  return concat(
      "<div class=\"scroll\"><div class=\"parallel\" style=\"min-width:", 88 * axes.size(),
      "px\"><div class=\"plot\">", open_svg(), drawing, "</svg>", labels, "</div></div></div>");
}

std::string scatters(const PageData& page) {
  const auto trials = drawn_trials(page);
  if (trials.size() < 2) return "";
  std::string charts;
  for (const std::string& name : parameter_names(page.trials)) {
    charts += scatter(page, trials, name);
  }
  return charts.empty() ? "" : concat("<div class=\"charts\">", charts, "</div>");
}

}  // namespace bp::launcher::sweep
