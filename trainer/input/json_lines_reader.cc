#include "trainer/input/json_lines_reader.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/input/json_object.h"
#include "trainer/input/open_input.h"
#include "trainer/input/shown_names.h"
#include "trainer/input/table.h"

namespace bp::trainer {
namespace {

[[noreturn]] void refuse_key(const std::string& path,
                             const std::string& key,
                             const std::vector<Field>& fields,
                             const std::vector<std::string>& names) {
  const bool wrapped = names.size() == 1 && names.front().ends_with("[]");
  throw InputError(
      2,
      concat(path, " has no key '", key, "': its first row has ",
             names.empty() ? "none" : shown_names(names)),
      wrapped ? concat("if it holds the rows, make one line of each: jq -c '.", names.front(),
                       "' OLD > NEW")
              : hint_for_name(key, names,
                              concat(hint_for_names("keys", fields),
                                     "; a dot names a key inside an object: --text review.body")));
}

}  // namespace

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

std::vector<std::string> find_json_keys(const TableQuestion& question) {
  constexpr int kEnough = 1000;
  std::vector<std::string> keys;
  for (const Field& field : question.fields) {
    const auto same = std::ranges::find(keys, field.column);
    if (same != keys.end()) {
      const Field& other = question.fields[static_cast<std::size_t>(same - keys.begin())];
      throw InputError(2,
                       concat(other.name, " and ", field.name, " are both key '", field.column,
                              "' of ", question.path),
                       concat("name two keys with ", options_of({other, field})));
    }
    keys.push_back(field.column);
  }
  JsonLinesReader reader(question.path, keys, question.encoding);
  for (std::size_t i = 0; i < keys.size(); ++i) reader.read_arrays(i, question.fields[i].arrays);
  std::vector<std::string> names;
  std::vector<bool> found;
  for (const Field& field : question.fields) {
    found.push_back(field.answer && question.answers != Answers::needed);
  }
  while (reader.row() < kEnough && std::ranges::count(found, false) > 0 && reader.next()) {
    if (reader.row() == 1) names = names_in_object(reader.line());
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = found[i] || reader.found(i);
  }
  if (reader.row() == 0) {
    throw InputError(65, concat(question.path, " is empty"), needed_text(question.fields));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!found[i]) refuse_key(question.path, keys[i], question.fields, names);
  }
  return keys;
}

}  // namespace bp::trainer
