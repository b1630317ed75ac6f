// A rank whose last operation before finish() moves data.
#pragma once

#include <cstddef>
#include <string>

namespace bp::test {

// Carries out one operation with `count` elements of four bytes, prints "all_reduce is over", and
// ends. Prints how long all took, "all_reduce ended after 123 ms". Returns the program's exit code:
// 0 if each element is right.
//
//   all_reduce, broadcast, reduce, all_gather    the collectives, from or to rank 0
//   message    rank 0 sends a message to each other rank
//   messages   rank 0 sends each other rank 4 messages
//   group      an all_reduce in a group of all ranks
//   each       each of these, in a world of its own
int end_with(const std::string& operation, std::size_t count);

}  // namespace bp::test
