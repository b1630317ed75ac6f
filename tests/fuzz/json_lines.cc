// A JSON lines file. The first byte selects the keys. nlohmann's document parser, which the reader
// does not use, must find the same texts.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "fuzz.h"
#include "input_file.h"
#include "tests/support/classify_data.h"
#include "trainer/input/json_lines_reader.h"
#include "trainer/input/table.h"

namespace {

using Keys = std::vector<std::string>;

constexpr const char* kJoint = "|";

// Returns the texts and numbers of an array with kJoint between them.
std::string joined(const nlohmann::json& array) {
  std::string joined;
  for (const auto& element : array) {
    if (&element != &array.front()) joined += kJoint;
    joined += element.is_string() ? element.get<std::string>() : "?";
  }
  return joined;
}

void compare(const bp::trainer::JsonLinesReader& reader, const std::string& key, bool arrays) {
  const std::string_view line = reader.line();
  const auto row = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!row.is_object()) std::abort();
  const auto found = row.find(key);
  if (found == row.end()) return;
  if (!reader.found(0)) std::abort();
  if (found->is_array() && arrays) {
    const bool texts = std::ranges::all_of(*found, [](const auto& one) { return one.is_string(); });
    if (texts && joined(*found) != reader.value(0)) std::abort();
    return;
  }
  if (found->is_structured()) std::abort();
  if (found->is_null() && !reader.value(0).empty()) std::abort();
  if (found->is_string() && found->get_ref<const std::string&>() != reader.value(0)) std::abort();
  const bool has_value = found->is_number() || found->is_boolean();
  if (has_value && nlohmann::json::parse(reader.value(0)) != *found) std::abort();
}

}  // namespace

FUZZ_TARGET(json_lines) {
  using namespace bp::trainer;
  static const bp::test::InputFile file(".jsonl");
  if (size == 0) return 0;
  const std::string& path = file.write(bp::test::text_of(data + 1, size - 1));
  const Keys keys = (data[0] & 1U) != 0   ? Keys{"a.b", "a.c"}
                    : (data[0] & 2U) != 0 ? Keys{"a.b.c", "a"}
                                          : Keys{"text", "label"};
  bp::test::read_input([&] {
    const TableQuestion question{.path = path, .fields = text_and_label(keys[0], keys[1])};
    if (find_json_keys(question) != keys) std::abort();
  });
  bp::test::read_input([&] {
    JsonLinesReader reader(path, keys);
    const bool arrays = (data[0] & 4U) != 0;
    if (arrays) reader.read_arrays(0, {kJoint});
    while (reader.next()) {
      compare(reader, keys[0], arrays);
      for (const std::string_view value : {reader.value(0), reader.value(1)}) {
        if (bp::find_invalid_utf8(value) != std::string_view::npos) std::abort();
      }
      if (reader.place().empty()) std::abort();
    }
  });
  return 0;
}
