// fields(archive, record) names the fields of a record once, in their order, for all that write and
// read it: messages, files, rows of a database. What is written is then read, by construction.
#pragma once

#include <concepts>
#include <type_traits>

namespace bp {

// The parameter for the record is Of<Record> auto&, which is constant for an archive that writes.
template <class T, class Record>
concept Of = std::same_as<std::remove_const_t<T>, Record>;

}  // namespace bp
