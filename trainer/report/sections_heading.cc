// The first sections of the report: the title, and the most important numbers.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/sections.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

std::string shown(const Tile& tile) {
  return concat("<div class=\"tile\"><dt>", html(tile.name), "</dt><dd>", html(tile.value),
                tile.note.empty() ? "" : concat(" <small>", html(tile.note), "</small>"),
                "</dd></div>\n");
}

// "2026-11-24 03:02 UTC"
std::string date_text(std::string time) {
  constexpr std::size_t kMinutes = 16;
  time.resize(std::min(time.size(), kMinutes));
  std::ranges::replace(time, 'T', ' ');
  return time + " UTC";
}

// When, where and with which version the run was trained.
std::string sessions_text(const Report& report) {
  std::string text;
  for (const Session& session : report.sessions) {
    text += concat("<p class=\"quiet\">", session.from_step == 0 ? "Begun" : "Resumed at step ",
                   session.from_step == 0 ? "" : with_commas(session.from_step), " on ",
                   html(date_text(session.begun)), " with bert_train ", html(session.version),
                   "; rank 0 has ", html(session.machine), ".</p>\n");
  }
  const EvaluationRecord* const best = best_dev(report);
  if (best == nullptr) return text;
  return concat(text, "<p class=\"quiet\">Best dev ", html(report.main_score), ": ",
                fixed(best->result.at(report.main_score), 4), " at step ", with_commas(best->step),
                " (epoch ", brief(best->epoch), ").</p>\n");
}

}  // namespace

std::string heading_section(const Report& report) {
  const RunSummary& run = report.summary;
  return concat(
      "<header><h1>", html(report.title), "</h1>\n<p class=\"quiet\">", html(run.task), " with a ",
      html(run.model), " model, trained for ", counted(run.steps, "step"),
      run.train.skipped > 0
          ? concat(", ", with_commas(run.train.skipped), " of them skipped for overflow")
          : "",
      " (", brief(run.epochs), run.epochs == 1 ? " epoch" : " epochs", ") on ",
      counted(run.world, "rank"), " on ", counted(run.hosts, "host"), ".",
      run.ended_early.empty() ? "" : concat(" It ended early: ", html(run.ended_early), "."),
      run.final_weights == "best"
          ? concat(" The model is that of step ", with_commas(run.final_step),
                   ", the best on dev by ", html(run.best_metric), ".")
          : "",
      "</p>\n", sessions_text(report), "</header>\n");
}

std::string tiles_section(const Report& report) {
  const RunSummary& run = report.summary;
  const double seconds = run.train.seconds;
  const double exposed = seconds > 0 ? kPercent * run.comm.seconds_exposed / seconds : 0;
  const std::string time =
      std::isfinite(seconds) ? clock_text(std::chrono::seconds(std::llround(seconds))) : "?";
  std::string tiles;
  for (const Tile& tile : report.tiles) tiles += shown(tile);
  tiles += shown({"Throughput", rate_text(run.train.samples_per_s), "samples/s"});
  tiles += shown({"Communication", fixed(exposed, 1) + " %", "of training time"});
  tiles += shown({"Training time", time, seconds < 3600 ? "min:s" : "h:min:s"});
  return concat("<dl class=\"tiles\">\n", tiles, "</dl>\n");
}

std::string scores_section(const Report& report) {
  const RunSummary& run = report.summary;
  std::vector<std::pair<std::string, const EvaluationSummary*>> splits;
  if (run.dev) splits.emplace_back("dev", &*run.dev);
  if (run.test) splits.emplace_back("test", &*run.test);
  if (splits.empty()) return "";
  std::string head;
  for (const auto& [name, scores] : splits) head += concat("<th scope=\"col\">", name, "</th>");
  std::string rows;
  for (const auto& [key, value] : splits.back().second->scores) {
    rows += concat("<tr><th scope=\"row\">", html(key), "</th>");
    for (const auto& [name, scores] : splits) {
      const double score = scores->at(key);
      rows += concat("<td>", std::isfinite(score) ? fixed(score, 4) : "&ndash;", "</td>");
    }
    rows += "</tr>\n";
  }
  return concat(
      "<section class=\"card\"><h2>Scores</h2>\n<div class=\"scroll\"><table><thead><tr>"
      "<th scope=\"col\">score</th>",
      head, "</tr></thead>\n<tbody>\n", rows, "</tbody></table></div></section>\n");
}

}  // namespace bp::trainer
