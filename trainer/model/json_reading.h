// Reading JSON that others wrote. Only for the .cc files that do it: the header is large.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "trainer/model/byte_source.h"

namespace bp::trainer {

using Json = nlohmann::json;

// Throws invalid_argument (no JSON, or no object); the text does not name the file.
[[nodiscard]] Json parse_object(const std::string& text);

// The value of `key`, null where it is not there.
[[nodiscard]] const Json& find(const Json& json, const char* key);

// A value for a message. What lies deeper is not shown: it might be very deep.
[[nodiscard]] std::string shown(const Json& value);

// The whole of a small file. Throws invalid_argument when it has more than 4 MiB.
[[nodiscard]] std::string read_json_file(const ByteSource& file);

}  // namespace bp::trainer
