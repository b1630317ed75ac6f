// Any text as bp writes it for other programs: a field of a CSV file, which must be readable
// unchanged; an HTML page; a message with quotes.

#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/utf8.h"
#include "comm/store/quote.h"
#include "fuzz.h"
#include "input_file.h"
#include "trainer/input/table_reader.h"

namespace {

using bp::test::require;
using namespace bp::trainer;

// A text with NUL never comes from a table, because the table reader refuses it.
void check_csv(const std::string& text) {
  static const bp::test::InputFile file(".csv");
  if (text.find('\0') != std::string::npos) return;
  TableReader reader(file.write("first," + bp::csv_field(text) + "\nsecond,\n"), kCsv);
  require(reader.next() && reader.fields().size() == 2);
  require(reader.fields()[0] == "first" && reader.fields()[1] == text);
  require(reader.next() && reader.fields()[0] == "second");
}

void check_html(const std::string& text) {
  const std::string shown = bp::html(text);
  require(bp::find_invalid_utf8(shown) == std::string::npos);
  require(shown.find_first_of("<>\"'") == std::string::npos);
  for (std::size_t at = 0; (at = shown.find('&', at)) != std::string::npos; ++at) {
    const std::string entity = shown.substr(at, shown.find(';', at) - at);
    require(entity == "&amp" || entity == "&lt" || entity == "&gt" || entity == "&quot" ||
            entity == "&#39");
  }
  require(bp::code_points(bp::shortened(shown, 10)) <= 10);
}

void check_quotes(const std::string& text) {
  const std::string quoted = bp::in_quotes(text);
  require(quoted.size() <= 4 * 100 + 5);
  for (const char c : quoted) require(c >= 0x20 && c <= 0x7e);
}

}  // namespace

FUZZ_TARGET(escaping) {
  const std::string text = bp::test::text_of(data, size);
  check_csv(bp::valid_utf8(text));
  check_html(text);
  check_quotes(text);
  return 0;
}
