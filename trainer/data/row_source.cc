#include "trainer/data/row_source.h"

namespace bp::trainer {

RowSource::RowSource(const std::string& path, const TableLayout& layout)
    : layout_(layout), reader_(path, layout.format.dialect(layout.header)) {}

bool RowSource::next() {
  while (reader_.next()) {
    if (reader_.row() > 0) return true;
  }
  return false;
}

RowSource open_source(const std::string& path, const TableLayout& layout) { return {path, layout}; }

}  // namespace bp::trainer
