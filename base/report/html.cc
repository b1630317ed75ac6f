// Pages, sections and tables as HTML.
#include <algorithm>
#include <array>

#include "base/report/embedded.h"
#include "base/report/escape.h"
#include "base/report/section.h"
#include "base/text.h"

namespace bp {
namespace {

std::string paragraph(const std::string& text) {
  return text.empty() ? "" : concat("<p class=\"quiet\">", html(text), "</p>\n");
}

// "-" in a column of numbers stands for a number that is not known.
std::string cell_text(const Cell& cell, bool number) {
  return number && cell.text == "-" ? "&ndash;" : html(one_line(cell.text));
}

bool is_matrix(const Table& table) {
  return table.look == Table::Look::matrix || table.look == Table::Look::dense_matrix;
}

std::string cell_html(const Cell& cell, bool left, bool of_matrix) {
  using Look = Cell::Look;
  if (cell.look == Look::bar) {
    return concat("<td class=\"meter\"><div class=\"bar\"><div class=\"first\" style=\"width:",
                  fixed(100 * cell.share, 2), "%\"></div></div></td>");
  }
  constexpr std::array kClasses = {"", "right", "wrong", "sum"};
  const std::string css = left ? "text" : kClasses[static_cast<std::size_t>(cell.look)];
  const bool coloured = cell.look == Look::right || cell.look == Look::wrong;
  return concat("<td", css.empty() ? "" : concat(" class=\"", css, '"'),
                cell.key ? concat(" data-key=\"", brief(*cell.key, 17), '"') : "",
                coloured ? concat(" style=\"--share:", fixed(cell.share, 3), '"') : "", ">",
                cell_text(cell, !left),
                cell.note.empty() ? ""
                                  : concat(of_matrix ? "<small>" : " <small class=\"quiet\">",
                                           html(one_line(cell.note)), "</small>"),
                "</td>");
}

std::string row_html(const Table& table, const Table::Row& row) {
  if (row.kind == Table::Row::Kind::heading) {
    return concat("<tr><th scope=\"rowgroup\" colspan=\"", table.columns.size(),
                  "\" class=\"quiet\">", html(row.cells.front().text), "</th></tr>\n");
  }
  std::string out = "<tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Cell cell = i < row.cells.size() ? row.cells[i] : Cell();
    if (i > 0) {
      out += cell_html(cell, table.columns[i].left, is_matrix(table));
      continue;
    }
    out += concat("<th scope=\"row\"",
                  cell.key ? concat(" data-key=\"", brief(*cell.key, 17), '"') : "", ">",
                  cell.run ? run_sample(*cell.run) : "", html(one_line(cell.text)), "</th>");
  }
  return out + "</tr>\n";
}

std::string head_html(const Table& table) {
  std::string out;
  bool any = false;
  for (const Table::Column& column : table.columns) {
    const std::string name = html(one_line(column.name));
    any |= !name.empty();
    out += concat("<th scope=\"col\"", column.left ? " class=\"text\">" : ">",
                  is_matrix(table) ? concat("<span>", name, "</span>") : name, "</th>");
  }
  return any ? concat("<thead><tr>", out, "</tr></thead>\n") : "";
}

std::string quote_html(const Quote& quote) {
  constexpr std::size_t kLongestOpen = 400;
  constexpr std::size_t kBeginning = 240;
  constexpr std::size_t kLongestText = 5000;
  const std::string text = repaired_utf8(quote.text);
  std::string out = "<li>";
  if (code_points(text) > kLongestOpen) {
    out += concat("<blockquote>", html(shortened(text, kBeginning)),
                  "<details><summary>whole text</summary>", html(shortened(text, kLongestText)),
                  "</details></blockquote>");
  } else if (!text.empty()) {
    out += concat("<blockquote>", html(text), "</blockquote>");
  }
  out += "<p>";
  for (const Quote::Words& words : quote.about) {
    using Look = Quote::Words::Look;
    out += words.look == Look::strong ? concat("<b>", html(words.text), "</b>")
           : words.look == Look::quiet
               ? concat("<span class=\"quiet\">", html(words.text), "</span>")
               : html(words.text);
  }
  return out + "</p></li>\n";
}

std::string portions_html(const std::vector<Portion>& portions) {
  constexpr std::array kPortionColours = {"first", "second", "third"};
  std::string bar;
  std::string legend;
  for (std::size_t i = 0; i < portions.size(); ++i) {
    const std::string colour = kPortionColours[i % kPortionColours.size()];
    bar += concat("<div class=\"", colour, "\" style=\"width:", fixed(100 * portions[i].share, 2),
                  "%\"></div>");
    legend += concat("<li class=\"", colour, "\"><i></i>", html(portions[i].name), ": ",
                     html(portions[i].value), "</li>");
  }
  return concat("<div class=\"bar\" aria-hidden=\"true\">", bar, "</div><ul class=\"legend\">",
                legend, "</ul>\n");
}

std::string charts_html(const std::vector<Chart>& charts) {
  std::string out;
  for (const Chart& chart : charts) {
    out += chart.heading.empty()
               ? render_chart(chart)
               : concat("<div><h3>", html(chart.heading), "</h3>", render_chart(chart), "</div>\n");
  }
  return charts.front().heading.empty() ? out
                                        : concat("<div class=\"grid-of-charts\">", out, "</div>\n");
}

// Shows `all` up to `open`, and the rest, if there is any, behind a click.
template <class List, class Show>
std::string folded(const Section& section, const List& all, const Show& show) {
  const auto open = std::min(section.open, all.size());
  const List first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(open));
  const List rest(all.begin() + static_cast<std::ptrdiff_t>(open), all.end());
  return concat(first.empty() ? "" : show(first),
                rest.empty() ? ""
                             : concat("<details><summary>", html(section.fold), "</summary>",
                                      show(rest), "</details>\n"));
}

std::string body_of(const Section& section) {
  return concat(folded(section, section.table.rows,
                       [&](const std::vector<Table::Row>& rows) {
                         return table_html({section.table.columns, rows, section.table.look});
                       }),
                section.charts.empty() ? "" : charts_html(section.charts),
                section.parallel.lines.empty() ? "" : render_parallel(section.parallel),
                section.portions.empty() ? "" : portions_html(section.portions),
                folded(section, section.quotes,
                       [](const std::vector<Quote>& quotes) {
                         std::string items;
                         for (const Quote& quote : quotes) items += quote_html(quote);
                         return concat("<ol class=\"rows\">\n", items, "</ol>");
                       }),
                paragraph(section.remark));
}

}  // namespace

std::string table_html(const Table& table) {
  std::string body;
  std::string foot;
  for (const Table::Row& row : table.rows) {
    (row.kind == Table::Row::Kind::foot ? foot : body) += row_html(table, row);
  }
  constexpr std::array kClasses = {"", " class=\"matrix\"", " class=\"sortable\"",
                                   " class=\"matrix dense\""};
  return concat("<div class=\"scroll\" tabindex=\"0\"><table",
                kClasses[static_cast<std::size_t>(table.look)], ">", head_html(table), "<tbody>\n",
                body, "</tbody>", foot.empty() ? "" : concat("\n<tfoot>\n", foot, "</tfoot>"),
                "</table></div>\n");
}

Sections joined(std::initializer_list<Sections> parts) {
  Sections all;
  for (const Sections& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string sections_html(const Sections& sections) {
  std::string out;
  bool in_pair = false;
  for (const Section& section : sections) {
    const std::string body = body_of(section);
    if (body.empty()) continue;
    if (section.half != in_pair) out += section.half ? "<div class=\"pair\">\n" : "</div>\n";
    in_pair = section.half;
    out += concat("<section class=\"card\"><h2>", html(section.title), "</h2>\n",
                  paragraph(section.note), body, "</section>\n");
  }
  return out + (in_pair ? "</div>\n" : "");
}

std::string page_html(const Page& page) {
  std::string about;
  for (const std::string& text : page.about) about += paragraph(text);
  std::string tiles;
  for (const Tile& tile : page.tiles) {
    tiles += concat("<div class=\"tile\"><dt>", html(tile.name), "</dt><dd>", html(tile.value),
                    tile.note.empty() ? "" : concat(" <small>", html(tile.note), "</small>"),
                    "</dd></div>\n");
  }
  // The policy makes browsers refuse anything from other sources, which this page never requests.
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      html(page.title), "</title>\n<style>\n", page_style(),
      "</style>\n</head>\n<body>\n<main>\n<header><h1>", html(page.title), "</h1>\n", about,
      "</header>\n", tiles.empty() ? "" : concat("<dl class=\"tiles\">\n", tiles, "</dl>\n"),
      sections_html(page.sections),
      page.footer.empty() ? "" : concat("<footer>", html(page.footer), "</footer>\n"),
      "</main>\n<script>\n", page_script(), "</script>\n</body>\n</html>\n");
}

}  // namespace bp
