// A file that was to be read as a store and is none, or none that this program reads.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/data/input_error.h"

namespace bp::trainer {

class StoreError : public InputError {
 public:
  enum class Kind : std::uint8_t {
    not_there,  // or not readable: exit code 66
    foreign,    // something else, which nobody may overwrite: 65
    ours,       // empty, unfinished, damaged or of another version: may be made anew; 65
  };

  StoreError(Kind kind, const std::string& text)
      : InputError(kind == Kind::not_there ? 66 : 65, text, hint_for(kind)), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  static const char* hint_for(Kind kind) {
    switch (kind) {
      case Kind::not_there:
        return "check the name, and the folder it is looked for in";
      case Kind::foreign:
        return "a store is made by: bert_train prep FILE, with FILE a .csv or .tsv file";
      case Kind::ours:
        return "make it again from its text file: bert_train prep FILE --store STORE --rebuild";
    }
    return "";
  }

  Kind kind_;
};

}  // namespace bp::trainer
