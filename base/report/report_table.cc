#include "base/report/report_table.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/report/escape.h"

namespace bp {
namespace {

using Line = std::vector<std::string>;

Line names_of(const Table& table) {
  Line names;
  for (const Table::Column& column : table.columns) names.push_back(one_line(column.name));
  return names;
}

bool has_head(const Table& table) {
  return std::ranges::any_of(table.columns, [](const Table::Column& c) { return !c.name.empty(); });
}

// Puts the last word of each name of several words below the others.
std::vector<Line> broken(Line names) {
  Line below(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t blank = names[i].rfind(' ');
    below[i] =
        blank == std::string::npos ? std::exchange(names[i], "") : names[i].substr(blank + 1);
    if (blank != std::string::npos) names[i].resize(blank);
  }
  return {names, below};
}

class TextTable {
 public:
  TextTable(const Table& table, const TextLayout& layout, std::vector<Line> head)
      : table_(table), layout_(layout), head_(std::move(head)) {
    for (const Table::Column& column : table.columns) widths_.push_back(column.width);
    for (const Line& line : head_) widen(line);
    for (const Table::Row& row : table.rows) {
      Line& line = rows_.emplace_back();
      for (const Cell& cell : row.cells) line.push_back(one_line(cell.text));
      if (row.kind != Table::Row::Kind::heading) widen(line);
    }
  }

  [[nodiscard]] std::size_t columns() const { return widths_.size(); }

  // Returns the width of the first column and those from `begin` to `end`.
  [[nodiscard]] std::size_t width(std::size_t begin, std::size_t end) const {
    std::size_t all = widths_.empty() ? 0 : widths_.front();
    for (std::size_t i = begin; i < end; ++i) all += layout_.gap + widths_[i];
    return all;
  }

  // Returns the lines of these columns.
  [[nodiscard]] std::string text(std::size_t begin, std::size_t end) const {
    std::string out;
    for (const Line& line : head_) out += line_of(line, begin, end);
    if (layout_.scikit) out += '\n';
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto kind = table_.rows[i].kind;
      const bool first_of_foot =
          kind == Table::Row::Kind::foot && (i == 0 || table_.rows[i - 1].kind != kind);
      if (layout_.scikit && first_of_foot) out += '\n';
      out += kind == Table::Row::Kind::heading ? rows_[i].front() + '\n'
                                               : line_of(rows_[i], begin, end);
    }
    return out;
  }

 private:
  void widen(const Line& line) {
    widths_.resize(std::max(widths_.size(), line.size()));
    const std::size_t most = layout_.ragged ? 0 : layout_.scikit ? 1 : line.size();
    for (std::size_t i = 0; i < std::min(most, line.size()); ++i) {
      widths_[i] = std::max(widths_[i], code_points(line[i]));
    }
  }

  [[nodiscard]] std::string padded(const std::string& text, std::size_t column) const {
    const std::string blanks(std::max(widths_[column], code_points(text)) - code_points(text), ' ');
    const bool right = layout_.right || layout_.scikit;
    const bool left =
        column == 0 ? !right : column < table_.columns.size() && table_.columns[column].left;
    return left ? text + blanks : blanks + text;
  }

  [[nodiscard]] std::string line_of(const Line& line, std::size_t begin, std::size_t end) const {
    std::string out = line.empty() ? "" : padded(line.front(), 0);
    if (layout_.scikit) out += ' ';
    for (std::size_t i = begin; i < std::min(end, line.size()); ++i) {
      out += std::string(layout_.gap, ' ') + padded(line[i], i);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + '\n';
  }

  const Table& table_;
  TextLayout layout_;
  std::vector<Line> head_;
  std::vector<Line> rows_;
  std::vector<std::size_t> widths_;
};

std::string csv_line(const Line& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i)
    line += (i == 0 ? "" : ",") + csv_field(fields[i]);
  return line + '\n';
}

}  // namespace

void Table::add(std::vector<std::string> texts, Table::Row::Kind kind) {
  Table::Row& row = rows.emplace_back();
  row.kind = kind;
  for (std::string& text : texts) row.cells.push_back({.text = std::move(text)});
}

Table table_of(const std::vector<std::string>& names) {
  Table table;
  for (const std::string& name : names) table.columns.push_back({.name = name});
  return table;
}

std::string terminal_text(const Table& table, const TextLayout& layout) {
  const auto most = static_cast<std::size_t>(layout.columns);
  const std::vector<Line> head =
      has_head(table) ? std::vector<Line>{names_of(table)} : std::vector<Line>();
  const TextTable whole(table, layout, head);
  if (most == 0 || whole.width(1, whole.columns()) <= most) return whole.text(1, whole.columns());
  const TextTable narrow(table, layout, head.empty() ? head : broken(head.front()));
  std::string out;
  for (std::size_t begin = 1, end = 1; begin < narrow.columns(); begin = end) {
    end = begin + 1;
    while (end < narrow.columns() && narrow.width(begin, end + 1) <= most) ++end;
    out += (out.empty() ? "" : "\n") + narrow.text(begin, end);
  }
  return out;
}

std::vector<std::string> terminal_lines(const Table& table) {
  std::istringstream text(terminal_text(table));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(std::move(line));
  return lines;
}

std::string csv_text(const Table& table) {
  Line names;
  for (const Table::Column& column : table.columns) names.push_back(column.name);
  std::string text = csv_line(names);
  for (const Table::Row& row : table.rows) {
    Line fields;
    for (const Cell& cell : row.cells) fields.push_back(cell.text);
    fields.resize(std::max(fields.size(), names.size()));
    text += csv_line(fields);
  }
  return text;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

}  // namespace bp
