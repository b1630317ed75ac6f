// Collects the findings about the rows of data files: errors, and remarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bp::trainer {

class SourceRows;

struct Finding {
  std::string kind = {};  // what such rows have in common, for their number: "without a label"
  std::string text = {};  // of this row, or of the source: "has no label"
  std::string hint = {};
  bool fatal = true;      // bert_train does not train on it
  std::string rows = {};  // such a row, for a message; empty: "row " and the kind
  bool explains = false;  // the message about all such rows needs the text of the first one
};

// Rows of one kind in a source.
struct RowsFound {
  std::int64_t count = 0;
  std::string first = {};  // where: "reviews.csv, row 2 (line 3)"

  [[nodiscard]] std::string text() const;  // "2, the first: reviews.csv, row 2 (line 3)"
};

// Why bert_train would refuse to train, and what helps; both are empty if it would not.
struct Obstacle {
  std::string what = {};
  std::string hint = {};
};

// A remark says "--rebuild" where a store that exists must be made again. Returns it with `words`
// in their place, or without them.
[[nodiscard]] std::string with_rebuild(std::string remark, const std::string& words);

class Findings {
 public:
  // A line of what `check` prints: what it counts, and the result.
  using Line = std::pair<std::string, std::string>;
  // Findings of one kind in one source; one about the source has no kind and no rows.
  struct Found {
    std::size_t source = 0;
    RowsFound rows = {};
    Finding first = {};
  };

  // `lists`: keeps all findings, as `check` needs them. Otherwise a fatal one is thrown.
  explicit Findings(bool lists) : lists_(lists) {}
  [[nodiscard]] bool lists() const { return lists_; }

  // Take a finding about the current row of a source, and one about a source. They throw it as
  // InputError (65) if it is fatal, unless findings are listed.
  void add(std::size_t source, const SourceRows& row, const Finding& finding);
  void add(std::size_t source, const Finding& finding);

  [[nodiscard]] const std::vector<Found>& all() const { return all_; }  // in the order of the rows
  [[nodiscard]] Line line(std::size_t source, std::string_view kind) const;
  // Adds to the lines about a source those of all kinds that have none.
  [[nodiscard]] std::vector<Line> complete(std::size_t source, std::vector<Line> lines) const;
  // Returns the first fatal finding, with the number of such rows in its source.
  [[nodiscard]] Obstacle obstacle() const;

 private:
  bool lists_;
  std::vector<Found> all_;
};

}  // namespace bp::trainer
