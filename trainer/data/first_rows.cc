#include "trainer/data/first_rows.h"

#include "base/input_error.h"

namespace bp::trainer {
FirstRows read_first_rows(const std::string& path,
                          const Dialect& dialect,
                          const std::string& encoding) {
  constexpr std::size_t kEnough = 1000;
  TableReader reader(path, dialect, encoding);
  FirstRows first;
  try {
    while (first.rows.size() < kEnough && reader.next()) {
      first.rows.emplace_back(reader.fields().begin(), reader.fields().end());
    }
  } catch (const InputError&) {
    first.error = std::current_exception();
  }
  return first;
}

}  // namespace bp::trainer
