// What is around the sections of a page.
#pragma once

#include <string>

namespace bp::trainer {

// Returns a whole HTML page that needs nothing from elsewhere. `body`: HTML. Escapes the title.
[[nodiscard]] std::string page(const std::string& title, const std::string& body);

}  // namespace bp::trainer
