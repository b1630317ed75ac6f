#include "launcher/sweep/report/sweep_page.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/sweep/report/charts.h"
#include "launcher/sweep/report/embedded.h"
#include "launcher/sweep/report/importance.h"
#include "launcher/sweep/report/plot_axis.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kMostRowsShown = 2000;

std::string time_text(double seconds) {
  return elapsed_text(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

std::string card(const std::string& title, const std::string& note, const std::string& body) {
  if (body.empty()) return "";
  return concat("<section class=\"card\">\n<h2>", title, "</h2>\n",
                note.empty() ? "" : concat("<p class=\"quiet\">", note, "</p>\n"), body,
                "\n</section>\n");
}

std::string tile(const std::string& name, const std::string& value, const std::string& note = "") {
  return concat("<div class=\"tile\"><dt>", html_text(name), "</dt><dd>", html_text(value),
                note.empty() ? "" : concat("<small>", html_text(note), "</small>"), "</dd></div>");
}

const PageTrial* best_of(const PageData& page) {
  return page.trials.empty() || !page.trials.front().result ? nullptr : &page.trials.front();
}

std::string tiles(const PageData& page) {
  std::array<int, kTrialStates> counts{};
  double seconds = 0;
  for (const PageTrial& trial : page.trials) {
    ++counts.at(static_cast<std::size_t>(trial.state));
    seconds += trial.seconds;
  }
  std::string text = "<dl class=\"tiles\">";
  if (const PageTrial* best = best_of(page)) {
    text += tile(concat("best ", page.metric), short_number(*best->result),
                 concat("trial ", best->number));
  }
  for (std::size_t state = 0; state < counts.size(); ++state) {
    if (counts.at(state) == 0) continue;
    text += tile(std::string(name_of(static_cast<TrialState>(state))),
                 std::to_string(counts.at(state)));
  }
  return text + tile("time of all trials", time_text(seconds)) + "</dl>\n";
}

std::string best_section(const PageData& page) {
  const PageTrial* best = best_of(page);
  if (best == nullptr) return "";
  std::string rows;
  for (const auto& [name, value] : best->parameters) {
    rows += concat("<tr><th>", html_text(name), "</th><td>", html_text(value.text()), "</td></tr>");
  }
  return concat("<table class=\"facts\"><tbody>", rows, "<tr><th>step</th><td>", best->step,
                "</td></tr><tr><th>time</th><td>", time_text(best->seconds),
                "</td></tr><tr><th>folder</th><td>", html_text(page.best_folder),
                "</td></tr></tbody></table>");
}

std::string importance_bars(const Importances& found) {
  std::string rows;
  for (const Importance& one : found.parameters) {
    const std::string percent = concat(std::lround(100 * one.share), " %");
    rows += concat("<li><span>", html_text(one.name),
                   "</span><div class=\"bar\"><div style=\"width:", short_number(100 * one.share),
                   "%\"></div></div><b>", percent, "</b></li>");
  }
  return rows.empty() ? "" : concat("<ul class=\"bars\">", rows, "</ul>");
}

std::string importance_note(const Importances& found) {
  return concat(
      "Share of the variance that a forest of 64 regression trees explains by splits at each "
      "parameter. On trials that a tree did not see, the forest explains ",
      std::lround(100 * found.explained), " % of the variance",
      found.explained < 0.3 ? ": too little to rely on these shares." : ".");
}

std::string cell(const std::string& text, double key) {
  return concat("<td data-key=\"", short_number(key), "\">", html_text(text), "</td>");
}

std::string row_of(const PageTrial& trial, const std::vector<std::string>& names) {
  std::string row = concat("<tr><td data-key=\"", trial.number, "\">", trial.number, "</td>");
  row += trial.result ? cell(short_number(*trial.result), *trial.result) : "<td></td>";
  for (const std::string& name : names) {
    const Value* value = find_value(trial.parameters, name);
    if (value == nullptr) {
      row += "<td></td>";
    } else if (value->is_number()) {
      row += cell(value->text(), value->number());
    } else {
      row += concat("<td class=\"text\">", html_text(value->text()), "</td>");
    }
  }
  return concat(row, "<td class=\"text\">", name_of(trial.state), "</td>",
                cell(std::to_string(trial.step), static_cast<double>(trial.step)),
                cell(time_text(trial.seconds), trial.seconds), "<td class=\"text\">",
                html_text(trial.hosts), "</td><td class=\"text\">", html_text(trial.reason),
                "</td></tr>\n");
}

bool is_text(const PageData& page, const std::string& name) {
  return std::any_of(page.trials.begin(), page.trials.end(), [&](const PageTrial& trial) {
    const Value* value = find_value(trial.parameters, name);
    return value != nullptr && !value->is_number();
  });
}

std::string table_of(const PageData& page) {
  const auto names = parameter_names(page.trials);
  std::string head = "<th>trial</th>";
  head += concat("<th>", html_text(page.metric.empty() ? "result" : page.metric), "</th>");
  for (const std::string& name : names) {
    head += concat(is_text(page, name) ? "<th class=\"text\">" : "<th>", html_text(name), "</th>");
  }
  head +=
      "<th class=\"text\">state</th><th>step</th><th>time</th><th class=\"text\">hosts</th>"
      "<th class=\"text\">why it ended early</th>";
  std::string rows;
  const std::size_t shown_rows = std::min(page.trials.size(), kMostRowsShown);
  for (std::size_t i = 0; i < shown_rows; ++i) rows += row_of(page.trials[i], names);
  return concat("<div class=\"scroll tall\"><table class=\"trials\"><thead><tr>", head,
                "</tr></thead><tbody>\n", rows, "</tbody></table></div>");
}

std::string table_note(const PageData& page) {
  if (page.trials.size() <= kMostRowsShown) return "";
  return concat("The best ", kMostRowsShown, " of ", page.trials.size(),
                " trials; bprun sweep status --csv prints all.");
}

std::string body_of(const PageData& page) {
  const Importances importances = importances_of(page.trials);
  return concat(
      "<header><h1>", html_text(page.name), "</h1><p class=\"quiet\">", page.trials.size(),
      " trials",
      page.metric.empty()
          ? ""
          : concat(" by ", html_text(page.metric), ", the ",
                   page.direction == Direction::max ? "largest" : "smallest", " is the best"),
      "</p></header>\n", tiles(page), card("Best trial", "", best_section(page)),
      card("Learning curves", "The best trials.", learning_curves(page)),
      card("Importance of the parameters", importance_note(importances),
           importance_bars(importances)),
      card("Parallel coordinates",
           "One line for each trial; the better it is, the stronger, and the best one has its own "
           "colour.",
           parallel_coordinates(page)),
      card("Parameters and results", "One point for each trial.", scatters(page)),
      card("Trials", table_note(page), table_of(page)));
}

}  // namespace

std::string sweep_page(const PageData& page) {
  // The policy makes browsers refuse anything from other sources, which this page never requests.
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      html_text(page.name), "</title>\n<style>\n", sweep_style(),
      "</style>\n</head>\n<body>\n<main>\n", body_of(page), "</main>\n<script>\n", sweep_script(),
      "</script>\n</body>\n</html>\n");
}

}  // namespace bp::launcher::sweep
