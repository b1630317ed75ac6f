// What Gloo's errors say, as bp shows it.
#pragma once

#include <string>
#include <string_view>

namespace bp::gloo_plugin {

// The first line of the text, without the place in Gloo's source that it begins with
// ("[/build/gloo/pair.cc:575] Connection closed"), and with ports as numbers: Gloo prints them as
// they lie in memory, 42069 as 21924.
[[nodiscard]] std::string readable(std::string_view text);

}  // namespace bp::gloo_plugin
