#include "launcher/report/failure_report.h"

#include "base/text.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

// Ranks that were in the same collective share a line.
std::string under_way_lines(const std::map<int, std::string>& under_way) {
  constexpr std::size_t kLines = 8;
  std::map<std::string, std::vector<int>> ranks_in;
  for (const auto& [rank, collective] : under_way) {
    ranks_in[collective].push_back(rank);
  }
  std::string text;
  std::size_t lines = 0;
  for (const auto& [collective, ranks] : ranks_in) {
    if (lines++ == kLines) {
      return text + concat("\n  and ", ranks_in.size() - kLines, " more");
    }
    text += concat("\n  ", ranks.size() == 1 ? "rank " : "ranks ", rank_ranges(ranks),
                   ranks.size() == 1 ? " was in " : " were in ", collective);
  }
  return text;
}

}  // namespace

std::string format_report(const FailureReport& report) {
  const Failure& failure = report.failure;
  std::string text = concat("bprun: FAILED  ", failure.headline);
  if (report.after.count() > 0) {
    text += concat(" after ", elapsed_text(report.after),
                   "\n  first failure: ", date_and_time(report.when));
  }
  if (!report.stopped.empty()) {
    text +=
        concat("; ", report.stopped.size() == 1 ? "rank " : "ranks ", rank_ranges(report.stopped),
               report.stopped.size() == 1 ? " was" : " were", " stopped by bprun (",
               report.stop_signal, ", ", elapsed_text(report.stop_took), ")");
  }
  for (const std::string& note : failure.more) {
    text += concat("\n  ", note);
  }
  text += under_way_lines(report.under_way);
  if (failure.rank >= 0 && report.last_errors.empty()) {
    text += concat("\n  rank ", failure.rank, " wrote nothing to stderr");
  } else if (!report.last_errors.empty()) {
    text += concat("\n  last stderr of rank ", failure.rank, ":");
    for (const std::string& line : report.last_errors) {
      text += concat("\n    | ", line);
    }
  }
  if (!failure.hint.empty()) {
    text += concat("\n  hint: ", failure.hint);
  }
  if (!report.error_file.empty()) {
    text += concat("\n  logs: ", report.error_file);
  }
  if (!report.next.empty()) {
    text += concat("\n  ", report.next);
  }
  return text;
}

}  // namespace bp::launcher
