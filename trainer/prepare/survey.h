// The first reading of the sources. It finds everything that can be wrong with them before anything
// is written, and decides which rows go into the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/prepare/findings.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/repeated_texts.h"
#include "trainer/prepare/row_set.h"
#include "trainer/prepare/split.h"

namespace bp::trainer {

struct Survey {
  std::vector<std::int64_t> rows;  // number of rows of each source
  std::int64_t all_rows = 0;
  std::vector<std::string> names;    // of the task: see RowFinder
  std::vector<std::string> remarks;  // of the task, for the user
  RowSet left_out;                   // by the task's options; numbered from 0 across all sources
  Strata strata;                     // with --stratify: of the first source's rows
  std::optional<TextRows> texts;     // of all sources, without the rows that are left out
  // If findings are listed: what `check` prints about each source, and about all of them.
  std::vector<std::vector<Findings::Line>> of_sources;
  std::vector<Findings::Line> of_all;
  Obstacle obstacle;
};

// `texts`: empty. `lists`: see Findings. Throws InputError 65: what RowSource throws and, unless
// findings are listed, the first fatal one.
[[nodiscard]] Survey survey(const Plan& plan, TextRows texts, bool lists);

// The rows that go into the store, and their splits.
class ChosenRows {
 public:
  // `plan` must outlive it. Throws InputError (65) if --dedupe leaves no row of a source, and what
  // divide_rows() throws.
  ChosenRows(const Plan& plan, Survey& survey);

  [[nodiscard]] const KeptRows& kept() const { return kept_; }
  [[nodiscard]] std::int64_t repeats() const { return repeats_; }  // that --dedupe leaves out
  // `place` is the row's number among the kept rows of the source, from 1.
  [[nodiscard]] Split split_of(std::size_t source, std::int64_t place) const {
    return splits_ ? splits_->of(place) : plan_.sources[source].split;
  }
  // Returns whether this row of the first source is one to train on.
  [[nodiscard]] bool trains(std::int64_t row) const;
  // Call it once, without --dedupe.
  [[nodiscard]] TextRows::Findings repeats_in(TextRows& texts) const;

 private:
  const Plan& plan_;
  std::int64_t repeats_ = 0;
  KeptRows kept_;
  std::optional<RowSplits> splits_;
};

// Divides the rows of a plan's only source into the splits. Returns nothing if the plan has a
// source for each split. `strata`: with --stratify, of all rows. Throws InputError (65) if a file
// that divides its rows itself leaves none to train on.
[[nodiscard]] std::optional<RowSplits> divide_rows(const Plan& plan,
                                                   const KeptRows& kept,
                                                   Strata& strata);

}  // namespace bp::trainer
