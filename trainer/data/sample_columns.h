// The columns of a store's tables of samples, in their order, without the first one, which is the
// position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/sample_schema.h"

namespace bp::trainer {

struct SampleColumn {
  enum class Kind : std::uint8_t { integer, real, bytes };
  std::string name;
  Kind kind = Kind::integer;

  [[nodiscard]] const char* sql_type() const {
    switch (kind) {
      case Kind::integer:
        return "INTEGER";
      case Kind::real:
        return "REAL";
      case Kind::bytes:
        return "BLOB";
    }
    return "";
  }
};

// Returns sample_id and text_id, the arrays of one value, tokens, and the other arrays.
[[nodiscard]] inline std::vector<SampleColumn> sample_columns(const SampleSchema& schema) {
  using Kind = SampleColumn::Kind;
  std::vector<SampleColumn> columns = {{"sample_id"}, {"text_id"}};
  for (const ArrayField& field : schema) {
    if (field.shape != Shape::one) continue;
    columns.push_back({field.name, field.element == Element::real ? Kind::real : Kind::integer});
  }
  columns.push_back({"tokens", Kind::bytes});
  for (const ArrayField& field : schema) {
    if (field.shape != Shape::one) columns.push_back({field.name, Kind::bytes});
  }
  return columns;
}

// Returns "a, b, c".
[[nodiscard]] inline std::string column_names(const std::vector<SampleColumn>& columns) {
  std::string names;
  for (const SampleColumn& column : columns) {
    names += (names.empty() ? "" : ", ") + column.name;
  }
  return names;
}

}  // namespace bp::trainer
