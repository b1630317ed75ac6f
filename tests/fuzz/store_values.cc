// Values that ranks store for other ranks: what a rank waits for (if the first byte is even), or
// the arguments with which a program resumes. An accepted value must be the same after it is
// written and read again.
#include <cstdlib>

#include "base/resume_words.h"
#include "comm/message/circle.h"
#include "fuzz.h"

namespace {

using namespace bp;

void read_note(const std::string& text) {
  const auto note = wait_note_of(text);
  if (!note) return;
  const std::string once = to_text(*note);
  const auto again = wait_note_of(once);
  if (!again || to_text(*again) != once) std::abort();
  // All ranks have the same note, and the search for a cycle must end.
  (void)find_circle(0, 0, [&](int) { return note; });
}

void read_words(const std::string& text) {
  const ResumeWords words = words_told(text);
  const ResumeWords again = words_told(told_words(words));
  if (again.saved != words.saved || again.given != words.given || again.instead != words.instead) {
    std::abort();
  }
}

}  // namespace

FUZZ_TARGET(store_values) {
  if (size == 0) return 0;
  const std::string text = bp::test::text_of(data + 1, size - 1);
  data[0] % 2 == 0 ? read_note(text) : read_words(text);
  return 0;
}
