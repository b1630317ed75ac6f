// A CSV or TSV file: first its layout is detected, then every row is read. The first byte selects
// the options.
#include "trainer/input/table.h"

#include "base/utf8.h"
#include "fuzz.h"
#include "input_file.h"
#include "tests/support/classify_data.h"
#include "trainer/tasks/classify/label_naming.h"

FUZZ_TARGET(table) {
  using namespace bp::trainer;
  static const bp::test::InputFile file("");
  if (size == 0) return 0;
  const std::string& path = file.write(bp::test::text_of(data + 1, size - 1));
  const bool tsv = (data[0] & 1U) != 0;
  const char separator = kUsualSeparators[(data[0] >> 4U) & 3U];
  bp::test::read_input([&] {
    const bool by_name = (data[0] & 2U) != 0;
    const TextFormat format = (data[0] & 8U) != 0 ? TextFormat::automatic
                              : tsv               ? TextFormat::tsv
                                                  : TextFormat::csv;
    const TableLayout layout = inspect_table({path, format, HeaderMode::automatic,
                                              by_name ? text_and_label() : text_and_label("1", "2"),
                                              (data[0] & 64U) != 0 ? separator : kFindSeparator});
    if (layout.format.text == TextFormat::jsonl) return;
    if (layout.columns[0] == layout.columns[1] || layout.format.separator == kFindSeparator)
      std::abort();
  });
  bp::test::read_input([&] {
    Dialect dialect = tsv ? kTsv : Dialect{.separator = separator};
    dialect.header = (data[0] & 4U) != 0;
    dialect.backslash = (data[0] & 128U) != 0;
    TableReader reader(path, dialect);
    std::size_t columns = 0;
    while (reader.next()) {
      if (columns == 0) columns = reader.fields().size();
      if (reader.fields().size() != columns) std::abort();
      for (const std::string_view field : reader.fields()) {
        if (bp::find_invalid_utf8(field) != std::string_view::npos) std::abort();
        const auto label = formed_label(field, {.trim = true, .round = dialect.header});
        if (label && bp::find_invalid_utf8(*label) != std::string_view::npos) std::abort();
      }
      if (reader.place().empty()) std::abort();
    }
  });
  return 0;
}
