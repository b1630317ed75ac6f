// Reads one JSON object (RFC 8259), and finds the values of keys in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bp::trainer {

// Why the values cannot be taken from a text. The message continues one that names the place: "key
// 'text' is an array, not a text".
class BadJson : public std::runtime_error {
 public:
  BadJson(const std::string& text, std::string hint)
      : std::runtime_error(text), hint_(std::move(hint)) {}
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// What becomes of an array where a text is expected.
struct JsonArrays {
  std::string joint = {};  // it is its texts and numbers with this between them; empty: refused
  std::string hint = {};   // for one that is refused; empty: how to make one text of it
};

// The value of one key in an object of JSON lines, found while a parser reads the object.
class JsonField {
 public:
  // "a.b" names the key "a.b" of an object that has it, else the key "b" of the object that is the
  // value of "a".
  explicit JsonField(std::string key);

  void read_arrays(JsonArrays arrays) { arrays_ = std::move(arrays); }

  // The parser calls these in the order of the text. `depth` counts the objects and arrays around a
  // key: 1 in the outermost object. `kind` is "a string", "null", "an array".
  void begin();
  void on_key(std::string_view key, std::size_t depth);
  void on_scalar(std::string_view kind, std::string_view value);
  void on_container(std::string_view kind);
  void on_object_end(std::size_t depth);
  void on_array_end() { array_ = nullptr; }
  // Throws BadJson if the value is an object or an array, unless that is allowed and has only texts
  // and numbers without the joint; or if a key that leads to the value occurs twice.
  void end() const;

  // Returns the value, which is empty for null and if the object lacks the key.
  [[nodiscard]] std::string_view value() const { return chosen().value; }
  // Returns whether the object has the key, perhaps with null.
  [[nodiscard]] bool found() const { return chosen().found; }

 private:
  // The value to which a key leads in the current row, or why there is none.
  struct Result {
    bool found = false;
    std::string value = {};
    std::string problem = {};
    std::string hint = {};
  };
  enum class Next : std::uint8_t { other, literal, nested, object_of_path };

  [[nodiscard]] const Result& chosen() const { return literal_.found ? literal_ : nested_; }
  void expect(Result& result, Next next);
  void meet_twice(Result& result, std::string_view key) const;
  void add_element(std::string_view kind, std::string_view value);

  std::string key_;
  std::vector<std::string> path_;  // the parts between the dots; empty if there is no dot
  Result literal_;                 // of the key itself
  Result nested_;                  // of the path
  std::vector<bool> met_;          // which parts of the path have occurred
  std::size_t open_ = 0;           // how many objects of the path the parser is in
  Next next_ = Next::other;        // what the next value is
  JsonArrays arrays_;
  Result* array_ = nullptr;  // of the array that the parser is in
  bool first_ = false;       // the array has had no element yet
};

// Finds the values of the fields in the object `text`, which is UTF-8 and may be nested to any
// depth. A value is a string without its quotes and escapes, a number as it is written, "true" or
// "false". Throws BadJson if `text` is not JSON or not an object, and what JsonField::end() throws.
void read_json_object(std::string_view text, std::vector<JsonField>& fields);

// Returns the keys of the object and of the objects in it, those of arrays with brackets: "text",
// "review.body", "tokens[]". Throws BadJson if `text` is not an object.
[[nodiscard]] std::vector<std::string> names_in_object(std::string_view text);

}  // namespace bp::trainer
