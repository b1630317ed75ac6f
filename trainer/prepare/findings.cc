#include "trainer/prepare/findings.h"

#include <algorithm>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/source_rows.h"

namespace bp::trainer {
namespace {

// Returns "2 sentences without tags" for two of "sentence without tags".
std::string counted_rows(const Findings::Found& found) {
  const Finding& first = found.first;
  const std::string one = first.rows.empty() ? "row " + first.kind : first.rows;
  const std::size_t end = one.find(' ');
  return concat(with_commas(found.rows.count), ' ', one.substr(0, end),
                found.rows.count == 1 ? "" : "s", one.substr(end));
}

}  // namespace

std::string with_rebuild(std::string remark, const std::string& words) {
  constexpr std::string_view kRebuild = " --rebuild";
  const std::size_t at = remark.find(kRebuild);
  if (at == std::string::npos) return remark;
  return remark.replace(at, kRebuild.size(), words.empty() ? "" : " " + words);
}

std::string RowsFound::text() const {
  return count == 0 ? "0" : concat(with_commas(count), ", the first: ", first);
}

void Findings::add(std::size_t source, const SourceRows& row, const Finding& finding) {
  if (finding.fatal && !lists_) {
    throw InputError(65, concat(row.place(), ": ", finding.text), finding.hint);
  }
  auto found = std::ranges::find_if(all_, [&](const Found& other) {
    return other.source == source && other.first.kind == finding.kind;
  });
  if (found == all_.end()) found = all_.insert(found, {source, {0, row.place()}, finding});
  ++found->rows.count;
}

void Findings::add(std::size_t source, const Finding& finding) {
  if (finding.fatal && !lists_) throw InputError(65, finding.text, finding.hint);
  all_.push_back({source, {}, finding});
}

Findings::Line Findings::line(std::size_t source, std::string_view kind) const {
  const auto found = std::ranges::find_if(
      all_, [&](const Found& other) { return other.source == source && other.first.kind == kind; });
  return {concat("  ", kind), found == all_.end() ? "0" : found->rows.text()};
}

std::vector<Findings::Line> Findings::complete(std::size_t source, std::vector<Line> lines) const {
  for (const Found& found : all_) {
    if (found.source != source || found.rows.count == 0) continue;
    const std::string name = "  " + found.first.kind;
    if (std::ranges::find(lines, name, &Line::first) != lines.end()) continue;
    lines.emplace_back(name, found.rows.text());
  }
  return lines;
}

Obstacle Findings::obstacle() const {
  const auto found =
      std::ranges::find_if(all_, [](const Found& other) { return other.first.fatal; });
  if (found == all_.end()) return {};
  if (found->rows.count == 0) return {found->first.text, found->first.hint};
  return {concat(counted_rows(*found), ", the first: ", found->rows.first,
                 found->first.explains ? concat(": ", found->first.text) : ""),
          found->first.hint};
}

}  // namespace bp::trainer
