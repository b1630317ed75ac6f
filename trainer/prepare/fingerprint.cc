#include "trainer/prepare/fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "trainer/common/hash.h"
#include "trainer/common/numbers.h"
#include "trainer/input/encoding.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

constexpr const char* kSplitKey = "split";  // of a fingerprint, as the next two
constexpr const char* kSeedKey = "seed";
constexpr const char* kStrataKey = "split of classes";
constexpr const char* kSplitOfFile = "as the data file says";

std::string content_of(const std::string& path) {
  const FileHash hash = hash_file(path);
  return concat(with_commas(hash.size), " bytes, XXH3 ", hash.hex);
}

std::string source_key(Split split) { return concat(name_of(split), " source"); }

std::string content_of_vocabulary(const std::string& path) {
  const std::string merges = merges_beside(path);
  return merges.empty() ? content_of(path)
                        : concat(content_of(path), "; merges of ", content_of(merges));
}

std::string source_key(const SourceFiles& source, std::size_t file) {
  return concat(source_key(source.split), file == 0 ? "" : concat(", file ", file + 1));
}

const char* name_of(LongText long_text) {
  constexpr const char* kNames[] = {"fold", "fold at sentence ends", "truncate"};
  return kNames[static_cast<std::size_t>(long_text)];
}

const char* name_of(VocabularyKind kind) {
  return kind == VocabularyKind::byte_pairs ? " tokens of byte pairs" : " tokens";
}

std::string with_encoding(const std::string& format, const std::string& encoding) {
  const bool is_utf8 = encoding == kFindEncoding || encoding == "utf-8";
  return is_utf8 ? format : concat(format, ", encoding ", encoding);
}

std::string describe(const DataFile& source, const PrepareOptions& options) {
  if (!source.layout) return with_encoding("the task's", options.encoding);
  const TableLayout& layout = *source.layout;
  const std::vector<Field> fields = options.task->fields();
  const char* const header = layout.format.text == TextFormat::jsonl ? ""
                             : layout.header                         ? " with a header"
                                                                     : " without header";
  std::string text = concat(layout.format.name(), header);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text += concat(", ", fields[i].name, " in ", layout.name_of(i));
  }
  return with_encoding(text, layout.encoding);
}

bool is_given(const Fingerprint& print, const std::string& key) {
  return std::ranges::count(print, key, &Fingerprint::value_type::first) > 0;
}

std::string value_in(const Fingerprint& print, const std::string& key) {
  const auto found = std::ranges::find(print, key, &Fingerprint::value_type::first);
  return found == print.end() ? std::string("not given") : found->second;
}

// Returns the splits for which only one of the two preparations of a training has a file.
std::vector<Split> files_of_one(const Fingerprint& a, const Fingerprint& b) {
  std::vector<Split> splits;
  const std::string trained = source_key(Split::train);
  if (!is_given(a, trained) || !is_given(b, trained)) return splits;
  for (const Split split : {Split::dev, Split::test}) {
    if (is_given(a, source_key(split)) != is_given(b, source_key(split))) splits.push_back(split);
  }
  return splits;
}

// Whether this key differs because one of the preparations lacks the file of a split.
bool follows(const std::string& key, const std::vector<Split>& lacking) {
  const bool divides = key == kSplitKey || key == kSeedKey || key == kStrataKey;
  return std::ranges::any_of(lacking, [&](Split split) {
    return divides || key.find(source_key(split)) != std::string::npos;
  });
}

}  // namespace

Fingerprint make_fingerprint(const Plan& plan) {
  const PrepareOptions& options = plan.options;
  Fingerprint print = {{"task", options.task->name()}};
  for (const SourceFiles& source : plan.sources) {
    for (std::size_t i = 0; i < source.files.size(); ++i) {
      const std::string name = source_key(source, i);
      print.emplace_back(name, content_of(source.files[i].path));
      print.emplace_back(concat("format of the ", name), describe(source.files[i], options));
    }
  }
  print.emplace_back("vocabulary", options.vocabulary.empty()
                                       ? concat("trained, at most ", options.vocabulary_size,
                                                name_of(options.vocabulary_kind))
                                       : content_of_vocabulary(options.vocabulary));
  print.emplace_back("case", options.lower_case ? "lower" : "kept");
  print.emplace_back("max length", concat(options.max_length));
  print.emplace_back("long text", name_of(options.long_text));
  const Fingerprint own = options.task->fingerprint();
  print.insert(print.end(), own.begin(), own.end());
  if (options.limit > 0) {
    print.emplace_back("rows of each file", concat("the first ", options.limit));
  }
  if (options.dedupe) {
    print.emplace_back("repeated texts", "kept once");
  }
  if (!plan.file_split.of_rows.empty()) {
    print.emplace_back(kSplitKey, kSplitOfFile);
  } else if (plan.divided) {
    print.emplace_back(kSplitKey,
                       concat(options.split[0], ",", options.split[1], ",", options.split[2]));
    print.emplace_back(kSeedKey, concat(options.seed));
    if (options.stratify) print.emplace_back(kStrataKey, "by share");
  }
  return print;
}

bool is_divided_by_data(const Fingerprint& stored) {
  return value_in(stored, kSplitKey) == kSplitOfFile;
}

std::string difference(const Fingerprint& stored, const Fingerprint& wanted) {
  std::string text;
  const auto add = [&](const std::string& one) { text += concat(text.empty() ? "" : "; ", one); };
  const std::vector<Split> moved = files_of_one(stored, wanted);
  for (const Split split : moved) {
    const bool there = is_given(stored, source_key(split));
    add(concat("--", name_of(split), " is given ", there ? "there, not here" : "here, not there"));
  }
  const auto compare = [&](const std::string& key) {
    const std::string a = value_in(stored, key);
    const std::string b = value_in(wanted, key);
    if (a != b && !follows(key, moved)) add(concat(key, " is ", a, " there, ", b, " here"));
  };
  for (const auto& entry : wanted) compare(entry.first);
  for (const auto& entry : stored) {
    if (!is_given(wanted, entry.first)) compare(entry.first);
  }
  return text;
}

bool is_source_key(const Plan& plan, const std::string& key) {
  return std::ranges::any_of(plan.sources, [&](const SourceFiles& source) {
    for (std::size_t i = 0; i < source.files.size(); ++i) {
      if (source_key(source, i) == key) return true;
    }
    return false;
  });
}

std::string changed_source(const Fingerprint& stored, const Plan& plan) {
  Fingerprint as_now = stored;
  std::string text;
  const auto compare = [&](const std::string& key, const std::string& path) {
    const std::string now = value_in(plan.fingerprint, key);
    for (auto& [what, value] : as_now) {
      if (what == key && value != now) {
        text += concat(text.empty() ? "" : "; ", "the data file ", path, " has changed (", value,
                       " then, ", now, " now)");
        value = now;
      }
    }
  };
  for (const SourceFiles& source : plan.sources) {
    for (std::size_t i = 0; i < source.files.size(); ++i) {
      compare(source_key(source, i), source.files[i].path);
    }
  }
  return difference(as_now, plan.fingerprint).empty() ? text : "";
}

}  // namespace bp::trainer
