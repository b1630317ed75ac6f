#include "trainer/data/json_field.h"

#include "base/text.h"

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

}  // namespace bp::trainer
