// Makes the texts of Gloo's errors readable.
#pragma once

#include <string>
#include <string_view>

namespace bp::gloo_plugin {

// Returns the first line of the text, without the position in Gloo's source with which it begins
// ("[/build/gloo/pair.cc:575] Connection closed"), and with correct ports: Gloo prints them in
// network byte order, 42069 as 21924.
[[nodiscard]] std::string readable(std::string_view text);

}  // namespace bp::gloo_plugin
