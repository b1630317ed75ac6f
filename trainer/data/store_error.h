// Thrown for a file that is not a store, or not one that this program reads.
#pragma once

#include <cstdint>
#include <string>

#include "base/input_error.h"

namespace bp::trainer {

class StoreError : public InputError {
 public:
  enum class Kind : std::uint8_t {
    missing,      // or not readable: exit code 66
    foreign,      // not a store: bp does not overwrite it; 65
    replaceable,  // empty, unfinished, damaged or of another version: bp may overwrite it; 65
  };

  StoreError(Kind kind, const std::string& text)
      : InputError(kind == Kind::missing ? 66 : 65, text, hint_for(kind)), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  static const char* hint_for(Kind kind) {
    switch (kind) {
      case Kind::missing:
        return "check the name, and the folder in which it is looked for";
      case Kind::foreign:
        return "make a store with: bert_train prep FILE, where FILE is a .csv or .tsv file";
      case Kind::replaceable:
        return "rebuild it from its text file: bert_train prep FILE --store STORE --rebuild";
    }
    return "";
  }

  Kind kind_;
};

}  // namespace bp::trainer
