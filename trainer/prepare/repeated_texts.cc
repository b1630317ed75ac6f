#include "trainer/prepare/repeated_texts.h"

#include <algorithm>

namespace bp::trainer {

void TextRows::for_each_repeated(const std::function<void(std::int64_t row, bool is_first)>& body) {
  NumberedDigest last{{}, -1};
  bool repeated = false;  // the text of `last` has occurred before
  digests_.for_each([&](const NumberedDigest& digest) {
    const bool again = last.row >= 0 && digest.text == last.text;
    if (again && !repeated) body(last.row, true);
    if (again) body(digest.row, false);
    last = digest;
    repeated = again;
  });
}

std::size_t TextRows::source_of(std::int64_t row) const {
  const auto next = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
  return static_cast<std::size_t>(next - first_rows_.begin()) - 1;
}

RowSet TextRows::repeats() {
  RowSet dropped;
  std::int64_t kept = 0;
  for_each_repeated([&](std::int64_t row, bool is_first) {
    if (is_first) {
      kept = row;
    } else if (source_of(row) != source_of(kept)) {
      dropped.insert(std::exchange(kept, row));
    } else {
      dropped.insert(row);
    }
  });
  return dropped;
}

TextRows::Findings TextRows::findings(
    const std::function<Split(std::size_t source, std::int64_t row)>& split_of) {
  Findings found;
  Findings of_text;
  bool trained_on = false;
  const auto end_text = [&] {
    if (trained_on) {
      found.dev_in_train += of_text.dev_in_train;
      found.test_in_train += of_text.test_in_train;
    }
    of_text = {};
    trained_on = false;
  };
  for_each_repeated([&](std::int64_t row, bool is_first) {
    if (is_first) end_text();
    found.repeated += is_first ? 0 : 1;
    const std::size_t source = source_of(row);
    const Split split = split_of(source, row - first_rows_[source] + 1);
    trained_on = trained_on || split == Split::train;
    of_text.dev_in_train += split == Split::dev ? 1 : 0;
    of_text.test_in_train += split == Split::test ? 1 : 0;
  });
  end_text();
  return found;
}

}  // namespace bp::trainer
