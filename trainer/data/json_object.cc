#include "trainer/data/json_object.h"

#include <cstddef>
#include <utility>

#include "base/text.h"
#include "trainer/data/json_visitor.h"

namespace bp::trainer {
namespace {

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
