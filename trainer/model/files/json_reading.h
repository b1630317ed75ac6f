// Reads JSON files of other programs. Include it only in .cc files that do that, because it
// includes a large header.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/refuse.h"
#include "bp/error.h"
#include "trainer/model/files/byte_source.h"

namespace bp::trainer {

using Json = nlohmann::json;

// Parses a JSON object. Throws invalid_argument if `text` is not JSON or not an object; the error
// does not name the file.
[[nodiscard]] Json parse_object(const std::string& text);

// Returns the value of `key`; null if it is absent.
[[nodiscard]] const Json& find(const Json& json, const char* key);

// Returns whether a key is neither absent nor null, false or an empty list or object.
[[nodiscard]] bool is_set(const Json& json, const char* key);

// Refuse a key that is set to anything but the one kind that bp has; always() also one that is
// absent or null.
void only(const Json& json, const char* key, const Json& kind);
void always(const Json& json, const char* key, const Json& kind);

// Returns a value for a message. Lists and objects are not shown in full, because they may be
// nested deeply.
[[nodiscard]] std::string shown(const Json& value);

// Returns the content of a small file. Throws invalid_argument if it has more than 4 MiB.
[[nodiscard]] std::string read_json_file(const ByteSource& file);

// Returns what `parse` makes of a small file's text. Names the file in the invalid_argument that it
// throws. Throws io if the file cannot be read.
template <class Parse>
[[nodiscard]] auto parse_json_file(const std::string& path, const Parse& parse) {
  const FileBytes file(path);
  try {
    return parse(read_json_file(file));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    refuse(path, error.what());
  }
}

}  // namespace bp::trainer
