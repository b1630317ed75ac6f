// The width of the terminal that shows a program's results.
#pragma once

namespace bp::trainer {

// Returns the columns of the terminal that stdout leads to; 0 if it leads to none. A file or a
// pipe takes lines of any length.
[[nodiscard]] int columns_of_stdout();

}  // namespace bp::trainer
