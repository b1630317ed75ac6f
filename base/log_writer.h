// Where the lines go that bp::log() formats.
#pragma once

#include <functional>
#include <string_view>

namespace bp {

// Replaces the function that writes each formatted line, with its line feed; an empty function
// restores write(2) to stderr. A program that redraws a line of its terminal needs this: its writer
// removes that line first. Any thread may call the writer, one at a time, and the writer must not
// log. When set_log_writer() returns, no call of the earlier writer is in progress.
void set_log_writer(std::function<void(std::string_view line)> writer);

// Throws invalid_argument if BP_LOG names no level. Lines are then written as for "warn".
void check_log_variable();

}  // namespace bp
