// Thrown for a file that is not a store, or not one that this program reads.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/data/input_error.h"

namespace bp::trainer {

class StoreError : public InputError {
 public:
  enum class Kind : std::uint8_t {
    not_there,  // does not exist or is not readable: exit code 66
    foreign,    // another kind of file, which must not be overwritten: 65
    // An empty, unfinished or damaged store, or one of another version, which may be rebuilt: 65.
    ours,
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
        return "rebuild it from its text file: bert_train prep FILE --store STORE --rebuild";
    }
    return "";
  }

  Kind kind_;
};

}  // namespace bp::trainer
