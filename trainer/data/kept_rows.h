// Which rows of the sources go into the store: all, or all but those whose text is kept elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bp::trainer {

class KeptRows {
 public:
  KeptRows() = default;  // of no source
  // `rows`: of each source. `dropped`: those to leave out, ascending, counted from 0 through all
  // sources.
  KeptRows(std::vector<std::int64_t> rows, std::vector<std::int64_t> dropped);

  // The place of a row (from 1) among those of its source that are kept, from 1; 0: it is left out.
  [[nodiscard]] std::int64_t place(std::size_t source, std::int64_t row) const;
  // How many are kept of each source.
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  [[nodiscard]] std::int64_t dropped() const { return static_cast<std::int64_t>(dropped_.size()); }

 private:
  std::vector<std::int64_t> first_rows_;  // of each source, counted through all
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> dropped_;
};

}  // namespace bp::trainer
