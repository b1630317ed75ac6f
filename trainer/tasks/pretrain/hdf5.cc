#include "trainer/tasks/pretrain/hdf5.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace bp::trainer {
namespace {

// The library adds to a text: "unable to open file: name = 'a', errno = 2, error message = '...'".
std::int64_t number_behind(std::string_view name, std::string_view text) {
  const std::size_t at = text.find(name);
  std::int64_t number = 0;
  if (at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + name.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return number;
}

// "truncated file: eof = 100, sblock->base_addr = 0, stored_eof = 2048"
std::string reason_in(const std::string& text) {
  if (text.starts_with("truncated file")) {
    return concat("it is cut off, with ", number_behind(": eof = ", text), " of ",
                  number_behind("stored_eof = ", text), " bytes");
  }
  return text.substr(0, text.find_first_of(":\n"));
}

}  // namespace

void prepare_hdf5() {
  static const herr_t kOnce = H5dont_atexit();
  (void)kOnce;
  (void)H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Failure hdf5_failure() {
  std::string text;
  // The last of them is the innermost one.
  const auto keep = [](unsigned /*number*/, const H5E_error2_t* error, void* to) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep, &text);
  if (text.empty()) text = "the HDF5 library gives no reason";
  return {static_cast<int>(number_behind("errno = ", text)), reason_in(text)};
}

}  // namespace bp::trainer
