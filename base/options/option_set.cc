#include "base/options/option_set.h"

#include <algorithm>
#include <cctype>
#include <type_traits>

#include "base/joined.h"
#include "base/nearest.h"
#include "base/options/value_text.h"
#include "base/system/home_path.h"
#include "base/text.h"
#include "bp/version.h"

namespace bp {
namespace {

template <class Value>
struct PlainOf {
  using Type = Value;
};
template <class Value>
struct PlainOf<std::optional<Value>> {
  using Type = Value;
};

template <class Number>
requires std::is_arithmetic_v<Number> std::string chosen_text(Number target, double least) {
  return double(target) < least ? "" : number_text(target);
}
std::string chosen_text(std::chrono::milliseconds target, std::chrono::milliseconds least) {
  return target < least ? "" : duration_text(target);
}
template <class Value, class Least>
std::string chosen_text(const std::optional<Value>& target, Least least) {
  return target ? chosen_text(*target, least) : "";
}

// Returns the names in a list. Throws InputError (2) for an empty name and for one that occurs
// twice.
std::vector<std::string> parse_list(const std::string& option, const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& one : split_at_commas(text)) {
    if (one.empty()) {
      throw InputError(2, concat(option, ": '", text, "' has an empty name"),
                       concat("names with commas between them: ", option, " bad,good"));
    }
    if (std::ranges::find(names, one) != names.end()) {
      throw InputError(2, concat(option, ": '", one, "' occurs twice"), "give each name once");
    }
    names.push_back(one);
  }
  return names;
}

}  // namespace

OptionSet::OptionSet(std::string command, std::string about, std::string footer)
    : command_(std::move(command)),
      about_(std::move(about)),
      footer_(std::move(footer)),
      version_(concat(command_.substr(0, command_.find(' ')), " " BP_VERSION)) {}

Option& OptionSet::add(const OptionText& text,
                       const std::string& type,
                       const std::string& now,
                       Assign assign) {
  const std::size_t comma = text.name.find(',');
  Option& option = options_.emplace_back();
  option.name = text.name.substr(comma == std::string::npos ? 0 : comma + 1);
  if (comma != std::string::npos) option.letter = text.name.substr(0, comma);
  option.type = type;
  option.topic = lower_case(group_);
  option.positional =
      option.name.size() > 1 && std::isupper(static_cast<unsigned char>(option.name.front())) != 0;
  if (!option.positional && type != "flag") option.value = text.value_name;
  option.default_value = text.shown_default.empty() && type != "flag" ? now : text.shown_default;
  option.help = text.help;
  option.suggested = text.suggested;
  option.on_resume = on_resume_;
  option.needs = needs_;
  option.usual = option.now = now;
  option.assign = std::move(assign);
  return option;
}

Option& OptionSet::value(const OptionText& text,
                         const std::string& now,
                         const std::function<void(const std::string&)>& use) {
  return add(text, "text", now, [use](const std::vector<std::string>& values) {
    use(values.back());
    return values.back();
  });
}

Option& OptionSet::optional_text(const OptionText& text, std::string& target) {
  return value(text, target, [&target](const std::string& typed) { target = typed; });
}

Option& OptionSet::text(const OptionText& text, std::string& target) {
  Option& option = optional_text(text, target);
  option.required = option.positional;
  return option;
}

Option& OptionSet::text(const OptionText& text, std::optional<std::string>& target) {
  return value(text, target.value_or(""), [&target](const std::string& typed) { target = typed; });
}

Option& OptionSet::optional_path(const OptionText& text, std::string& target) {
  return add(text, "path", target, [&target](const std::vector<std::string>& values) {
    return target = expand_home(values.back());
  });
}

Option& OptionSet::path(const OptionText& text, std::string& target) {
  Option& option = optional_path(text, target);
  option.required = option.positional;
  return option;
}

Option& OptionSet::path(const OptionText& text, std::optional<std::string>& target) {
  return add(text, "path", target.value_or(""), [&target](const std::vector<std::string>& values) {
    return *(target = expand_home(values.back()));
  });
}

Option& OptionSet::texts(const OptionText& text, std::vector<std::string>& target) {
  Option& option = add(text, "list", "", [&target](const std::vector<std::string>& values) {
    target = values;
    return joined(values, " ");
  });
  option.repeatable = true;
  return option;
}

Option& OptionSet::positional_paths(const OptionText& text, std::vector<std::string>& target) {
  Option& option = add(text, "paths", "", [&target](const std::vector<std::string>& values) {
    target.clear();
    for (const std::string& path : values) target.push_back(expand_home(path));
    return joined(target, " ");
  });
  option.repeatable = option.required = true;
  return option;
}

Option& OptionSet::list(const OptionText& text, std::vector<std::string>& target) {
  Option& option = add(text, "list", "", {});
  option.value = "NAME,...";
  option.assign = [&target, &option](const std::vector<std::string>& values) {
    target = parse_list(option.spelled(), values.back());
    return values.back();
  };
  return option;
}

Option& OptionSet::paths(const OptionText& text, std::vector<std::string>& target) {
  Option& option = add(text, "paths", "", {});
  option.repeatable = true;
  option.assign = [&target, &option](const std::vector<std::string>& values) {
    std::string all = joined(values, ",");
    target = parse_list(option.spelled(), all);
    for (std::string& path : target) path = expand_home(path);
    return all;
  };
  return option;
}

Option& OptionSet::flag(const OptionText& text, bool& target, bool given) {
  Option& option = add(text, "flag", target == given ? "true" : "false", {});
  option.bare = "true";
  option.assign = [this, &option, &target, given](const std::vector<std::string>& values) {
    const std::string word = lower_case(values.back());  // YAML's True
    const bool on = word == "true" || word == "yes" || word == "on" || word == "1";
    if (!on && word != "false" && word != "no" && word != "off" && word != "0") {
      refuse_value(option, values.back());
    }
    target = on == given;
    return on ? "true" : "false";
  };
  return option;
}

template <class Number>
Option& OptionSet::number(const OptionText& text, Number& target, double least, double most) {
  using Plain = typename PlainOf<Number>::Type;
  constexpr bool kWhole = !std::is_floating_point_v<Plain>;
  Option& option = add(text, kWhole ? "integer" : "number", chosen_text(target, least), {});
  option.whole = kWhole;
  if (text.value_name == "TEXT") option.value = "N";
  option.least = least;
  if (most < kUnbounded) option.most = most;
  option.assign = [this, &option, &target, least, most](const std::vector<std::string>& values) {
    const auto number = number_in<Plain>(values.back());
    if (!number || !(double(*number) >= least && double(*number) <= most)) {
      refuse_value(option, values.back());
    }
    target = *number;
    return number_text(*number);
  };
  return option;
}
template Option& OptionSet::number(const OptionText&, int&, double, double);
template Option& OptionSet::number(const OptionText&, std::int64_t&, double, double);
template Option& OptionSet::number(const OptionText&, std::uint64_t&, double, double);
template Option& OptionSet::number(const OptionText&, double&, double, double);
template Option& OptionSet::number(const OptionText&, std::optional<int>&, double, double);
template Option& OptionSet::number(const OptionText&, std::optional<double>&, double, double);

template <class Number>
Option& OptionSet::numbers(const OptionText& text,
                           std::vector<Number>& target,
                           double least,
                           double most) {
  Option& option = number(text, target.front(), least, most);
  option.type = "list";
  option.value = "N,...";
  option.assign = [&target, one = option.assign](const std::vector<std::string>& values) {
    std::vector<Number> numbers;
    std::string all;
    for (const std::string& word : split_at_commas(values.back())) {
      all += concat(all.empty() ? "" : ",", one({word}));
      numbers.push_back(target.front());
    }
    target = std::move(numbers);
    return all;
  };
  return option;
}
template Option& OptionSet::numbers(const OptionText&, std::vector<int>&, double, double);
template Option& OptionSet::numbers(const OptionText&, std::vector<double>&, double, double);

template <class Time>
Option& OptionSet::duration(const OptionText& text,
                            Time& target,
                            std::chrono::milliseconds least,
                            std::chrono::milliseconds most) {
  Option& option = add(text, "time", chosen_text(target, least), {});
  if (text.value_name == "TEXT") option.value = "TIME";
  option.least = double(least.count()) / 1000;
  if (most < kLongestTime) option.most = double(most.count()) / 1000;
  option.assign = [this, &option, &target, least, most](const std::vector<std::string>& values) {
    const auto time = parse_duration(values.back());
    if (!time || *time < least || *time > most) refuse_value(option, values.back());
    target = std::chrono::duration_cast<typename PlainOf<Time>::Type>(*time);
    return values.back();
  };
  return option;
}
using OptionalTime = std::optional<std::chrono::milliseconds>;
template Option& OptionSet::duration(const OptionText&,
                                     std::chrono::seconds&,
                                     std::chrono::milliseconds,
                                     std::chrono::milliseconds);
template Option& OptionSet::duration(const OptionText&,
                                     std::chrono::milliseconds&,
                                     std::chrono::milliseconds,
                                     std::chrono::milliseconds);
template Option& OptionSet::duration(const OptionText&,
                                     OptionalTime&,
                                     std::chrono::milliseconds,
                                     std::chrono::milliseconds);

Option& OptionSet::size(const OptionText& text, std::uint64_t& target, double least, double most) {
  Option& option = add(text, "size", "", {});
  if (text.value_name == "TEXT") option.value = "SIZE";
  option.least = least;
  option.most = most;
  option.assign = [this, &option, &target, least, most](const std::vector<std::string>& values) {
    const auto size = parse_size(values.back());
    if (!size || double(*size) < least || double(*size) > most) refuse_value(option, values.back());
    target = *size;
    return values.back();
  };
  return option;
}

Option& OptionSet::add_choice(const OptionText& text,
                              const std::vector<std::string>& names,
                              const std::string& now,
                              const std::function<void(const std::string&)>& set) {
  Option& option = add(text, "choice", now, {});
  option.choices = names;
  if (text.value_name == "TEXT") option.value = joined(names, "|");
  option.assign = [this, &option, set](const std::vector<std::string>& values) {
    const std::string& chosen = values.back();
    if (std::ranges::count(option.choices, chosen) == 0) refuse_value(option, chosen);
    set(chosen);
    return chosen;
  };
  return option;
}

void OptionSet::mention(const OptionText& text) { add(text, "text", "", {}); }

// What each type takes. Numbers and choices say their bounds and names.
void OptionSet::refuse_value(const Option& option, const std::string& value) const {
  const std::string begin = concat(option.spelled(), ": '", value, "' is ");
  const auto wrong = [&](const std::string& what, const std::string& hint) {
    return WrongValue(option, value, begin + what, hint.empty() ? help_hint() : hint);
  };
  if (option.type == "choice") {
    const std::string nearest = nearest_name(value, option.choices);
    throw wrong(concat("none of ", joined(option.choices, "|")),
                nearest.empty() ? "" : concat("did you mean '", nearest, "'?"));
  }
  if (option.type == "flag") throw wrong("neither true nor false", "");
  if (option.type == "time") throw wrong("not a time", "with d, h, m, s or ms: 45s, 1.5h, 2h30m");
  if (option.type == "size") throw wrong("not a size", "bytes, or with K, M or G: 4096, 64K, 1G");
  const auto text_of = [&](double bound) {
    return option.whole ? number_text(static_cast<std::int64_t>(bound)) : number_text(bound);
  };
  const std::string least = text_of(*option.least);
  const std::string bounds =
      option.most ? concat("between ", least, " and ", text_of(*option.most)) : "at least " + least;
  throw wrong(concat("not a ", option.whole ? "whole number " : "number ", bounds), "");
}

}  // namespace bp
