#include "trainer/text/form_json.h"

#include <vector>

namespace bp::trainer {
namespace {

using IdOf = std::function<std::int32_t(const std::string& token)>;

class FormReader {
 public:
  FormReader(const JsonPlace& file, const IdOf& id_of) : file_(file), id_of_(id_of) {}

  SampleForm read() {
    // ByteLevel changes no ids here.
    const JsonPlace processor = file_.at("post_processor");
    std::vector<JsonPlace> steps = processor.steps("processors");
    std::erase_if(steps, [](const auto& step) { return step.at("type").value() == "ByteLevel"; });
    if (steps.size() > 1) steps[1].refuse_value("a second one is too many");
    read_processor(steps.empty() ? processor : steps.front());
    form_.pad = first_of("[PAD]", "<pad>");
    form_.mask = first_of("[MASK]", "<mask>");
    const JsonPlace pad = file_.at("padding.pad_id");
    if (!pad.value().is_null() && id_of_(file_.at("padding.pad_token").text()) == pad.id()) {
      form_.pad = pad.id();
    }
    form_.unknown = first_of("<unk>", "[UNK]");
    if (form_.pad < 0) file_.at("added_tokens").refuse_value("it has neither [PAD] nor <pad>");
    return form_;
  }

 private:
  std::int32_t first_of(const char* one, const char* other) const {
    const std::int32_t id = id_of_(one);
    return id < 0 ? id_of_(other) : id;
  }
  // A list of a token and its id.
  std::int32_t pair(const JsonPlace& place) const {
    const std::int32_t id = place.at("1").id();
    if (id_of_(place.at("0").text()) != id) place.refuse_value("the token has another id");
    return id;
  }

  void read_processor(const JsonPlace& place) {
    const JsonPlace type = place.at("type");
    if (type.value() == "TemplateProcessing") return read_template(place);
    const bool as_roberta = type.value() == "RobertaProcessing";
    if (!as_roberta && type.value() != "BertProcessing") {
      type.refuse_value(
          "bp's tokenizer has only TemplateProcessing, BertProcessing and RobertaProcessing");
    }
    form_.cls = pair(place.at("cls"));
    form_.sep = pair(place.at("sep"));
    form_.separators = as_roberta ? 2 : 1;
    form_.second_type = as_roberta ? 0 : 1;
  }

  static Json part(const char* kind, const Json& id, int type) {
    return {{kind, {{"id", id}, {"type_id", type}}}};
  }
  [[nodiscard]] Json pair_of(const Json& cls, const Json& sep) const {
    Json parts = {part("SpecialToken", cls, 0), part("Sequence", "A", 0)};
    for (int i = 0; i < form_.separators; ++i) parts.push_back(part("SpecialToken", sep, 0));
    parts.push_back(part("Sequence", "B", form_.second_type));
    parts.push_back(part("SpecialToken", sep, form_.second_type));
    return parts;
  }

  void read_template(const JsonPlace& place) {
    const JsonPlace single = place.at("single");
    const JsonPlace cls = single.at("0.SpecialToken.id");
    const JsonPlace sep = single.at("2.SpecialToken.id");
    single.require({part("SpecialToken", cls.value(), 0), part("Sequence", "A", 0),
                    part("SpecialToken", sep.value(), 0)});
    const auto special = [&](const JsonPlace& name) {
      const std::int32_t id = id_of_(name.text());
      if (id < 0) name.refuse_value("the vocabulary has no such token");
      place.at("special_tokens").at(name.text()).at("ids").require_if_given(Json::array({id}));
      return id;
    };
    form_.cls = special(cls);
    form_.sep = special(sep);
    const JsonPlace pair = place.at("pair");
    const auto fits = [&] { return pair.value() == pair_of(cls.value(), sep.value()); };
    form_.separators = pair.value().size() > 5 ? 2 : 1;
    if (!fits()) form_.second_type = 0;
    if (fits()) return;
    pair.refuse_value("bp's samples of two texts are cls A sep B sep or cls A sep sep B sep");
  }

  const JsonPlace& file_;
  const IdOf& id_of_;
  SampleForm form_;
};

}  // namespace

SampleForm read_sample_form(const JsonPlace& file, const IdOf& id_of) {
  return FormReader(file, id_of).read();
}

}  // namespace bp::trainer
