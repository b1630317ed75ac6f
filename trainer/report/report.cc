#include "trainer/report/report.h"

#include "base/text.h"
#include "trainer/report/embedded.h"
#include "trainer/report/sections.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

namespace {

// Returns "summary.json, metrics.jsonl and predictions.csv".
std::string files_behind(const Report& report) {
  std::string text = "summary.json";
  for (const std::string& file : report.result_files) text += ", " + html(file);
  return text + " and metrics.jsonl";
}

}  // namespace

std::string render_report(const Report& report) {
  // The policy makes browsers refuse anything from other sources, which this page never requests.
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      html(report.title), "</title>\n<style>\n", page_style(),
      "</style>\n</head>\n<body>\n<main>\n", heading_section(report), tiles_section(report),
      loss_section(report), report.results, course_section(report), "<div class=\"pair\">\n",
      time_section(report), hosts_section(report), "</div>\n", settings_section(report),
      "<footer>Written by bert_train. The numbers behind this page: ", files_behind(report),
      " beside it.</footer>\n</main>\n<script>\n", page_script(), "</script>\n</body>\n</html>\n");
}

}  // namespace bp::trainer
