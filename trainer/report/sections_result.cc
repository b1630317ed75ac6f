// What the model can do: heading, tiles, confusion matrix, classes, worst rows.
#include <cmath>

#include "comm/base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/sections.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr int kDigits = 3;
constexpr std::size_t kLongestText = 600;  // code points of a text that is shown
constexpr std::size_t kLongestLabel = 24;

std::string counted(std::int64_t n, const std::string& singular) {
  return concat(with_commas(n), ' ', singular, n == 1 ? "" : "s");
}

std::string label_at(const Report& report, int index) {
  const auto place = static_cast<std::size_t>(index);
  const std::string name = place < report.labels.size() ? report.labels[place] : concat('#', index);
  return html(shortened(mended_utf8(name), kLongestLabel));
}

std::string tile(const std::string& name, const std::string& value, const std::string& note = "") {
  return concat("<div class=\"tile\"><dt>", name, "</dt><dd>", value,
                note.empty() ? "" : concat(" <small>", note, "</small>"), "</dd></div>\n");
}

std::string class_row(const std::string& name, const ClassScores& of) {
  return concat("<tr><th scope=\"row\">", name, "</th><td>", fixed(of.precision, kDigits),
                "</td><td>", fixed(of.recall, kDigits), "</td><td>", fixed(of.f1, kDigits),
                "</td><td>", with_commas(of.support), "</td></tr>\n");
}

std::string matrix_row(const Report& report, int label) {
  const Tally& tally = report.evaluation->tally;
  std::int64_t sum = 0;
  for (int k = 0; k < tally.classes(); ++k) {
    sum += tally.count({.label = label, .prediction = k});
  }
  std::string cells;
  for (int k = 0; k < tally.classes(); ++k) {
    const std::int64_t n = tally.count({.label = label, .prediction = k});
    const double share = sum == 0 ? 0 : static_cast<double>(n) / static_cast<double>(sum);
    // The root makes also the few mistakes of a good model visible.
    const double shade = k == label ? share : std::sqrt(share);
    cells += concat("<td class=\"", k == label ? "right" : "wrong",
                    "\" style=\"--share:", fixed(shade, kDigits), "\">", with_commas(n), "<small>",
                    fixed(kPercent * share, 1), "%</small></td>");
  }
  return concat("<tr><th scope=\"row\">", label_at(report, label), "</th>", cells,
                "<td class=\"sum\">", with_commas(sum), "</td></tr>\n");
}

}  // namespace

std::string heading_section(const Report& report) {
  const RunSummary& run = report.summary;
  return concat("<header><h1>", html(report.title), "</h1>\n<p class=\"quiet\">", html(run.task),
                " with a ", html(run.model), " model, trained for ", counted(run.steps, "step"),
                " (", brief(run.epochs), run.epochs == 1 ? " epoch" : " epochs", ") on ",
                counted(run.world, "rank"), " on ", counted(run.hosts, "host"), ".</p></header>\n");
}

std::string tiles_section(const Report& report) {
  const RunSummary& run = report.summary;
  std::string tiles;
  if (const auto& result = run.test ? run.test : run.dev) {
    const std::string split = run.test ? "test" : "dev";
    tiles += tile("Accuracy", fixed(kPercent * result->accuracy, 1) + " %", split);
    tiles += tile("Matthews correlation", fixed(result->mcc, kDigits), split);
    tiles += tile("F1, mean of classes", fixed(result->f1_macro, kDigits), split);
    tiles += tile("Log loss", fixed(result->log_loss, kDigits), split);
  }
  const double seconds = run.train.seconds;
  tiles += tile("Throughput", rate_text(run.train.samples_per_s), "samples/s");
  const double exposed = seconds > 0 ? kPercent * run.comm.seconds_exposed / seconds : 0;
  tiles += tile("Communication", fixed(exposed, 1) + " %", "of training time");
  const std::string time =
      std::isfinite(seconds) ? clock_text(std::chrono::seconds(std::llround(seconds))) : "?";
  tiles += tile("Training time", time, seconds < 3600 ? "min:s" : "h:min:s");
  return concat("<dl class=\"tiles\">\n", tiles, "</dl>\n");
}

std::string confusion_section(const Report& report) {
  if (!report.evaluation) {
    return "";
  }
  std::string head;
  std::string rows;
  for (int k = 0; k < report.evaluation->tally.classes(); ++k) {
    head += concat("<th scope=\"col\">", label_at(report, k), "</th>");
    rows += matrix_row(report, k);
  }
  return concat("<section class=\"card\"><h2>Confusion matrix, ", html(report.evaluation->split),
                " split</h2>\n<p class=\"quiet\">Rows: what is true. Columns: what was predicted. "
                "Shares are of the row.</p>\n<div class=\"scroll\" tabindex=\"0\">"
                "<table class=\"matrix\"><thead><tr><th></th>",
                head, "<th scope=\"col\">sum</th></tr></thead>\n<tbody>\n", rows,
                "</tbody></table></div></section>\n");
}

std::string classes_section(const Report& report) {
  if (!report.evaluation) {
    return "";
  }
  const Scores scores = scores_of(report.evaluation->tally);
  std::string rows;
  for (std::size_t k = 0; k < scores.classes.size(); ++k) {
    rows += class_row(label_at(report, static_cast<int>(k)), scores.classes[k]);
  }
  return concat("<section class=\"card\"><h2>Classes, ", html(report.evaluation->split),
                " split</h2>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>"
                "<th scope=\"col\">label</th><th scope=\"col\">precision</th>"
                "<th scope=\"col\">recall</th><th scope=\"col\">F1</th>"
                "<th scope=\"col\">samples</th></tr></thead>\n<tbody>\n",
                rows, "</tbody>\n<tfoot>\n", class_row("mean", scores.macro),
                class_row("weighted mean", scores.weighted), "</tfoot></table></div></section>\n");
}

std::string worst_section(const Report& report) {
  if (!report.evaluation || report.evaluation->worst.empty()) {
    return "";
  }
  std::string rows;
  for (const WorstRow& row : report.evaluation->worst) {
    rows += concat("<li><blockquote>", html(shortened(mended_utf8(row.text), kLongestText)),
                   "</blockquote><p>is <b>", label_at(report, row.label), "</b>, predicted <b>",
                   label_at(report, row.prediction), "</b>. Probability of the true label ",
                   brief(row.probability), ", loss ", fixed(-std::log(row.probability), 2),
                   ". <span class=\"quiet\">text ", row.text_id, ", sample ", row.sample_id,
                   "</span></p></li>\n");
  }
  return concat("<section class=\"card\"><h2>Worst rows, ", html(report.evaluation->split),
                " split</h2>\n<p class=\"quiet\">Those with the highest loss. Often they show "
                "what is wrong with the data.</p>\n<ol class=\"rows\">\n",
                rows, "</ol></section>\n");
}

}  // namespace bp::trainer
