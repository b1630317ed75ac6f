// Reads one JSON object (RFC 8259).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/json_field.h"

namespace bp::trainer {

// Finds the values of the fields in the object `text`, which is UTF-8 and may be nested to any
// depth. A value is a string without its quotes and escapes, a number as it is written, "true" or
// "false". Throws BadJson if `text` is not JSON or not an object, and what JsonField::end() throws.
void read_json_object(std::string_view text, std::vector<JsonField>& fields);

// Returns the keys of the object and of the objects in it, those of arrays with brackets: "text",
// "review.body", "tokens[]". Throws BadJson if `text` is not an object.
[[nodiscard]] std::vector<std::string> names_in_object(std::string_view text);

}  // namespace bp::trainer
