// The functions that nlohmann's parser calls for what it finds. Only json_object.cc and
// json_visitor.cc include this file, because it includes a large header.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace bp::trainer {

// Throws BadJson for a row that is `kind`, not an object.
[[noreturn]] void refuse_json_root(std::string_view kind);
// Throws BadJson for what is wrong at byte `position` of a line, from 1.
[[noreturn]] void refuse_json_syntax(std::size_t position, const std::string& reason);
// Returns what the text of an exception of nlohmann says, without what is not for the user.
[[nodiscard]] std::string reason_of(const std::string& what);

// Receives what the parser finds. The parser is not recursive, so it reads objects of any depth.
class JsonVisitor {
 public:
  using Json = nlohmann::json;
  JsonVisitor() = default;
  JsonVisitor(const JsonVisitor&) = delete;
  JsonVisitor& operator=(const JsonVisitor&) = delete;
  virtual ~JsonVisitor() = default;

  bool null() { return take_scalar("null", ""); }
  bool boolean(bool value) { return take_scalar("true or false", value ? "true" : "false"); }
  // Is called for a whole number with a minus sign. Only "-0" has the value 0.
  bool number_integer(Json::number_integer_t value) {
    return take_scalar("a number", value == 0 ? "-0" : std::to_string(value));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return take_scalar("a number", std::to_string(value));
  }
  bool number_float(Json::number_float_t, const Json::string_t& as_written) {
    return take_scalar("a number", as_written);
  }
  bool string(const Json::string_t& value) { return take_scalar("a string", value); }
  bool binary(const Json::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t) {
    if (depth_ > 0) container("an object");
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (depth_ == 0) refuse_json_root("an array");
    container("an array");
    ++depth_;
    return true;
  }
  bool key(const Json::string_t& key) {
    object_key(key);
    return true;
  }
  bool end_object() {
    object_end();
    --depth_;
    return true;
  }
  bool end_array() {
    array_end();
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    refuse_json_syntax(position, reason_of(error.what()));
  }

 protected:
  [[nodiscard]] std::size_t depth() const { return depth_; }  // of open objects and arrays
  // These are inside the outermost object.
  virtual void scalar(std::string_view kind, std::string_view value) = 0;
  virtual void container(std::string_view kind) = 0;
  virtual void object_key(const std::string& key) = 0;
  virtual void object_end() = 0;
  virtual void array_end() {}

 private:
  bool take_scalar(std::string_view kind, std::string_view value) {
    if (depth_ == 0) refuse_json_root(kind);
    scalar(kind, value);
    return true;
  }

  std::size_t depth_ = 0;
};

}  // namespace bp::trainer
