#include "trainer/input/json_object.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', begin)) {
    parts.push_back(key.substr(begin, dot - begin));
    begin = dot + 1;
  }
  if (begin > 0) parts.push_back(key.substr(begin));
  return parts;
}

const char* const kOneObject =
    "each line must be one object; an object over several lines becomes one line with jq: jq -c . "
    "OLD > NEW";

// nlohmann's text is "[...] parse error at line 1, column 9: syntax error while parsing value -
// invalid literal; last read: 'nul'". Its line is always 1.
std::string reason_of(const std::string& what) {
  constexpr std::size_t kLongest = 120;
  const std::size_t dash = what.find(" - ");
  const std::size_t begin = dash != std::string::npos ? dash + 3 : what.find("] ") + 2;
  const std::string reason = what.substr(begin);
  return reason.size() <= kLongest ? reason : valid_utf8(reason.substr(0, kLongest)) + "...";
}

[[noreturn]] void refuse_json_root(std::string_view kind) {
  throw BadJson(concat("is ", kind, ", not an object"),
                "each line must be an object such as {\"text\": \"fine\", \"label\": 1}");
}

[[noreturn]] void refuse_json_syntax(std::size_t position, const std::string& reason) {
  throw BadJson(concat("is not JSON at byte ", position, " of the line: ", reason), kOneObject);
}

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

class FieldFinder final : public JsonVisitor {
 public:
  explicit FieldFinder(std::vector<JsonField>& fields) : fields_(fields) {}

 private:
  void scalar(std::string_view kind, std::string_view value) override {
    for (JsonField& field : fields_) field.on_scalar(kind, value);
  }
  void container(std::string_view kind) override {
    for (JsonField& field : fields_) field.on_container(kind);
  }
  void object_key(const std::string& key) override {
    for (JsonField& field : fields_) field.on_key(key, depth());
  }
  void object_end() override {
    for (JsonField& field : fields_) field.on_object_end(depth());
  }
  void array_end() override {
    for (JsonField& field : fields_) field.on_array_end();
  }

  std::vector<JsonField>& fields_;
};

// Lists the keys of the outermost object and of the objects in it.
class NameFinder final : public JsonVisitor {
 public:
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  void scalar(std::string_view, std::string_view) override { keep(); }
  void container(std::string_view kind) override {
    if (kind == "an array" && !name_.empty()) names_.push_back(name_ + "[]");
    if (kind == "an object" && depth() == 1) outer_ = name_ + ".";
    name_.clear();
  }
  void object_key(const std::string& key) override {
    name_ = depth() == 1 ? key : depth() == 2 && !outer_.empty() ? outer_ + key : "";
  }
  void object_end() override {
    if (depth() == 2) outer_.clear();
  }
  void keep() {
    if (!name_.empty()) names_.push_back(std::exchange(name_, ""));
  }

  std::vector<std::string> names_;
  std::string name_;   // of the next value; empty if it is not listed
  std::string outer_;  // "review." inside the object that is the value of "review"
};

// The parser takes a zero byte for the end of the text.
void visit_object(std::string_view text, JsonVisitor& visitor) {
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    refuse_json_syntax(zero + 1, "a zero byte");
  }
  (void)nlohmann::json::sax_parse(text.begin(), text.end(), &visitor);
}

}  // namespace

JsonField::JsonField(std::string key)
    : key_(std::move(key)), path_(parts_of(key_)), met_(path_.size()) {}

void JsonField::begin() {
  for (Result* result : {&literal_, &nested_}) {
    result->found = false;
    result->value.clear();
    result->problem.clear();
  }
  met_.assign(path_.size(), false);
  open_ = 0;
  next_ = Next::other;
  array_ = nullptr;
}

void JsonField::on_key(std::string_view key, std::size_t depth) {
  next_ = Next::other;
  if (depth == 1 && key == key_) expect(literal_, Next::literal);
  if (path_.empty() || depth != open_ + 1 || key != path_[open_]) return;
  if (open_ + 1 == path_.size()) {
    expect(nested_, Next::nested);
    return;
  }
  if (met_[open_]) meet_twice(nested_, key);
  met_[open_] = true;
  next_ = Next::object_of_path;
}

void JsonField::expect(Result& result, Next next) {
  if (result.found) meet_twice(result, key_);
  result.found = true;
  next_ = next;
}

void JsonField::meet_twice(Result& result, std::string_view key) const {
  result.problem = concat("key '", key, "' occurs twice in one object");
  result.hint = "which of the two values counts? remove the other";
}

void JsonField::on_scalar(std::string_view kind, std::string_view value) {
  if (array_ != nullptr) return add_element(kind, value);
  if (next_ == Next::literal) literal_.value = value;
  if (next_ == Next::nested) nested_.value = value;
  if (next_ == Next::object_of_path && kind != "null") {
    nested_.problem = concat("key '", path_[open_], "' is ", kind, ", so there is no ", key_);
    nested_.hint = "the part of a key before a dot must be an object in every row";
  }
  next_ = Next::other;
}

void JsonField::add_element(std::string_view kind, std::string_view value) {
  if (!std::exchange(first_, false)) array_->value += arrays_.joint;
  array_->value += value;
  const bool holds_joint = value.find(arrays_.joint) != std::string_view::npos;
  if (kind == "null" || holds_joint) {
    array_->problem = holds_joint ? concat("the array of key '", key_, "' has the text '", value,
                                           "', which contains '", arrays_.joint, "'")
                                  : concat("the array of key '", key_, "' has ", kind);
    array_->hint = concat("bert_train puts '", arrays_.joint, "' between the texts of the array");
  }
}

void JsonField::on_container(std::string_view kind) {
  const Next next = std::exchange(next_, Next::other);
  const bool object = kind == "an object";
  if (array_ != nullptr) {
    array_->problem = concat("the array of key '", key_, "' has ", kind, " in it");
    array_->hint = "its elements must be texts or numbers";
    return;
  }
  if (!arrays_.joint.empty() && !object && (next == Next::literal || next == Next::nested)) {
    array_ = next == Next::literal ? &literal_ : &nested_;
    first_ = true;
    return;
  }
  if (next == Next::object_of_path && object) {
    ++open_;
  } else if (next == Next::object_of_path) {
    next_ = next;
    on_scalar(kind, "");
  } else if (next != Next::other) {
    Result& result = next == Next::literal ? literal_ : nested_;
    result.problem = concat("key '", key_, "' is ", kind, ", not a text or a number");
    result.hint = object ? concat("a dot names a key inside the object: ", key_, ".KEY")
                  : !arrays_.hint.empty()
                      ? arrays_.hint
                      : concat("make one text of it: jq -c '.", key_, " |= join(\" \")' OLD > NEW");
  }
}

void JsonField::on_object_end(std::size_t depth) {
  if (open_ > 0 && depth == open_ + 1) --open_;
}

void JsonField::end() const {
  if (!chosen().problem.empty()) throw BadJson(chosen().problem, chosen().hint);
}

void read_json_object(std::string_view text, std::vector<JsonField>& fields) {
  for (JsonField& field : fields) field.begin();
  FieldFinder finder(fields);
  visit_object(text, finder);
  for (const JsonField& field : fields) field.end();
}

std::vector<std::string> names_in_object(std::string_view text) {
  NameFinder finder;
  visit_object(text, finder);
  return finder.names();
}

}  // namespace bp::trainer
