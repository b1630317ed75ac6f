#include "trainer/input/row_source.h"

#include <algorithm>
#include <cstddef>

namespace bp::trainer {
namespace {

using Reader = std::variant<TableReader, JsonLinesReader>;

Reader make_reader(const std::string& path, const TableLayout& layout) {
  if (layout.format.text == TextFormat::jsonl) {
    return Reader(std::in_place_type<JsonLinesReader>, path, layout.keys, layout.encoding);
  }
  return Reader(std::in_place_type<TableReader>, path, layout.format.dialect(layout.header),
                layout.encoding);
}

}  // namespace

RowSource::RowSource(const std::string& path, const TableLayout& layout)
    : layout_(layout),
      reader_(make_reader(path, layout)),
      fields_(std::max(layout.columns.size(), layout.keys.size())) {
  auto* const reader = std::get_if<JsonLinesReader>(&reader_);
  if (reader == nullptr) return;
  for (std::size_t i = 0; i < layout.arrays.size(); ++i) reader->read_arrays(i, layout.arrays[i]);
}

bool RowSource::next() {
  return std::visit([this](auto& reader) { return next_row(reader); }, reader_);
}

bool RowSource::next_row(TableReader& reader) {
  do {
    if (!reader.next()) return false;
  } while (reader.row() == 0);  // the header
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::size_t column = layout_.columns[i];
    if (column != TableLayout::kNoColumn) fields_[i] = reader.fields()[column];
  }
  return true;
}

bool RowSource::next_row(JsonLinesReader& reader) {
  if (!reader.next()) return false;
  for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i] = reader.value(i);
  return true;
}

std::int64_t RowSource::number() const {
  return std::visit([](const auto& reader) { return reader.row(); }, reader_);
}

std::string RowSource::place() const {
  return std::visit([](const auto& reader) { return reader.place(); }, reader_);
}

RowSource open_source(const std::string& path, const TableLayout& layout) { return {path, layout}; }

}  // namespace bp::trainer
