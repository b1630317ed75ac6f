// Sections of a report as data, and the page that shows them: one file that needs nothing from
// elsewhere, is readable at any width, in light and dark mode and on paper, and is complete without
// its script. All texts are escaped, and may hold anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/report/chart.h"
#include "base/report/report_table.h"

namespace bp {

// One of the most important numbers, in large type.
struct Tile {
  std::string name = {};   // "Accuracy"
  std::string value = {};  // "91.2 %"
  std::string note = {};   // "test"
};

// A part of a whole, such as a step's time.
struct Portion {
  std::string name = {};
  double share = 0;        // of 1
  std::string value = {};  // "98.5 ms (93.7%)"
};

// A text from outside, and what is said about it. A long one is folded after its beginning.
struct Quote {
  struct Words {
    std::string text = {};
    enum class Look : std::uint8_t { plain, strong, quiet } look = Look::plain;
  };
  std::string text = {};  // may be empty
  std::vector<Words> about = {};
};

// A section that has only a title and a note has nothing to show, and is left out.
struct Section {
  std::string title = {};
  std::string note = {};  // below the title; may be empty
  Table table = {};
  std::vector<Chart> charts = {};  // several are small, each below its heading
  ParallelCoordinates parallel = {};
  std::vector<Portion> portions = {};
  std::vector<Quote> quotes = {};
  // The rows or quotes from this one on are folded below a line with the text `fold`.
  std::size_t open = static_cast<std::size_t>(-1);
  std::string fold = {};
  std::string remark = {};  // below all else
  bool half = false;        // beside another one where the page is wide
};

using Sections = std::vector<Section>;
[[nodiscard]] Sections joined(std::initializer_list<Sections> parts);

struct Page {
  std::string title = {};
  std::vector<std::string> about = {};  // paragraphs
  std::vector<Tile> tiles = {};
  Sections sections = {};
  std::string footer = {};
};

[[nodiscard]] std::string page_html(const Page& page);
[[nodiscard]] std::string sections_html(const Sections& sections);

}  // namespace bp
