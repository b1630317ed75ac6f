// Lists names, and fields, for a message.
#pragma once

#include <string>
#include <vector>

#include "trainer/input/row_reader.h"

namespace bp::trainer {

// Returns "id, text, label", with at most 20 names and 40 bytes of each. One with blanks around it
// is in quotes.
[[nodiscard]] std::string shown_names(const std::vector<std::string>& names);

// Returns what to say of a name that is not among `names`: which one it may mean, also if they
// differ by blanks around them, or look the same; else `otherwise`.
[[nodiscard]] std::string hint_for_name(const std::string& wanted,
                                        const std::vector<std::string>& names,
                                        const std::string& otherwise);

// Returns what to do if a file lacks a column: "name the columns with --text and --label". `what`:
// "columns" or "keys".
[[nodiscard]] std::string hint_for_names(const std::string& what, const std::vector<Field>& fields);

// Returns the options that name the columns: "--text and --label".
[[nodiscard]] std::string options_of(const std::vector<Field>& fields);

// Returns "it needs a text and a label per row".
[[nodiscard]] std::string needed_text(const std::vector<Field>& fields);

}  // namespace bp::trainer
