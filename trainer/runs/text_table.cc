#include "trainer/runs/text_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kGap = 2;  // blanks between two columns

std::vector<std::size_t> widths_of(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], code_points(row[i]));
    }
  }
  return widths;
}

std::size_t width_of(const std::vector<std::size_t>& widths) {
  std::size_t all = 0;
  for (const std::size_t width : widths) all += (all > 0 ? kGap : 0) + width;
  return all;
}

// Puts the last word of each head of several words below the others.
void break_head(std::vector<TableRow>& rows) {
  TableRow below(rows.front().size());
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    std::string& cell = rows.front()[i];
    const std::size_t blank = cell.rfind(' ');
    if (blank == std::string::npos) {
      below[i] = std::exchange(cell, "");
      continue;
    }
    below[i] = cell.substr(blank + 1);
    cell.resize(blank);
  }
  rows.insert(rows.begin() + 1, std::move(below));
}

// Returns the lines with the first column and those from `begin` to `end`.
std::string lines_of(const std::vector<TableRow>& rows,
                     const std::vector<std::size_t>& widths,
                     std::size_t begin,
                     std::size_t end) {
  std::string out;
  for (const TableRow& row : rows) {
    const std::string first = row.empty() ? "" : row.front();
    std::string line =
        widths.empty() ? "" : first + std::string(widths[0] - code_points(first), ' ');
    for (std::size_t i = begin; i < std::min(end, row.size()); ++i) {
      line += std::string(kGap + widths[i] - code_points(row[i]), ' ') + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace

std::string text_table(const std::vector<TableRow>& rows, int columns) {
  const auto most = static_cast<std::size_t>(columns);
  std::vector<std::size_t> widths = widths_of(rows);
  if (columns <= 0 || width_of(widths) <= most) return lines_of(rows, widths, 1, widths.size());
  std::vector<TableRow> broken = rows;
  break_head(broken);
  widths = widths_of(broken);
  std::string out;
  for (std::size_t begin = 1, end = 1; begin < widths.size(); begin = end) {
    std::size_t width = widths[0];
    for (end = begin; end < widths.size(); ++end) {
      width += kGap + widths[end];
      if (end > begin && width > most) break;
    }
    out += concat(out.empty() ? "" : "\n", lines_of(broken, widths, begin, end));
  }
  return out;
}

}  // namespace bp::trainer
