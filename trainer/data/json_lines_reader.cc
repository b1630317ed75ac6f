#include "trainer/data/json_lines_reader.h"

#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/data/json_object.h"
#include "trainer/data/open_input.h"

namespace bp::trainer {

JsonLinesReader::JsonLinesReader(const std::string& path,
                                 const std::vector<std::string>& keys,
                                 const std::string& encoding)
    : JsonLinesReader(path, keys, open_input(path, encoding)) {}

JsonLinesReader::JsonLinesReader(std::string path,
                                 const std::vector<std::string>& keys,
                                 std::unique_ptr<ByteInput> input)
    : path_(std::move(path)),
      fields_(keys.begin(), keys.end()),
      lines_(path_,
             std::move(input),
             {.place =
                  [this](std::int64_t line) {
                    return concat(path_, ", row ", row_ + 1, " (line ", line, ")");
                  },
              .too_long_hint = "in JSON lines, a line break follows each object"}) {}

bool JsonLinesReader::next() {
  do {
    try {
      if (!lines_.next()) return false;
    } catch (const BadRow&) {
      ++row_;
      throw;
    }
  } while (lines_.line().find_first_not_of(" \t\r") == std::string_view::npos);
  ++row_;
  try {
    read_json_object(lines_.line(), fields_);
  } catch (const BadJson& bad) {
    throw BadRow({65, concat(place(), ": ", bad.what()), bad.hint()});
  }
  return true;
}

std::string JsonLinesReader::place() const {
  return concat(path_, ", row ", row_, " (line ", lines_.number(), ")");
}

}  // namespace bp::trainer
