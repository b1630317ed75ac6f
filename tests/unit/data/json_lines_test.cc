// JSON lines as a data file.
// docs/acceptance.md, Data: JSON lines may have nested keys and values of every type. What is not
// JSON is refused with its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/compressed.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/input/row_source.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::Pair;

struct Keys {
  std::string text = "text";
  std::string label = "label";
  std::string joint = {};  // of the label
};
using Rows = std::vector<std::pair<std::string, std::string>>;

class JsonLines : public PrepareTest {
 protected:
  TableQuestion ask(const std::string& content, const Keys& keys = {"text", "label"}) {
    TableQuestion question{.path = scratch_.write("a.jsonl", content),
                           .fields = text_and_label(keys.text, keys.label)};
    question.fields.back().arrays.joint = keys.joint;
    return question;
  }
  Rows rows(const std::string& content, const Keys& keys = {"text", "label"}) {
    const TableQuestion question = ask(content, keys);
    const TableLayout layout = inspect_table(question);
    EXPECT_EQ(layout.format.name(), "jsonl");
    RowSource source = open_source(question.path, layout);
    Rows rows;
    while (source.next()) {
      rows.emplace_back(source.fields()[0], source.fields()[1]);
      EXPECT_EQ(source.number(), static_cast<std::int64_t>(rows.size()));
    }
    return rows;
  }
  // The same after a good row, in the second line.
  void expect_refused_row(const std::string& row,
                          const std::string& text,
                          const std::string& hint,
                          const Keys& keys = {"text", "label"}) {
    const std::string good = "{\"text\": \"a\", \"label\": 1, \"a\": {\"b\": 2, \"c\": {}}}\n";
    expect_input_error(65, "a.jsonl, row 2 (line 2): " + text, hint,
                       [&] { (void)rows(good + row + "\n", keys); });
  }
};

TEST_F(JsonLines, ValuesAreStringsNumbersAsWrittenTrueAndFalse) {
  EXPECT_THAT(
      rows(R"({"label": 1, "text": "a, \"b\"\n\u00e9\ud83d\ude00 \/\\", "more": [1, {}]}
{"text": 12.50, "label": -0}
{"text": 1E+2, "label": -17}
{"text": true, "label": false}
{"text": 123456789012345678901234567890, "label": 18446744073709551615}
{"text":"","label":"x"})"),
      ElementsAre(Pair("a, \"b\"\n\u00e9\U0001F600 /\\", "1"), Pair("12.50", "-0"),
                  Pair("1E+2", "-17"), Pair("true", "false"),
                  Pair("123456789012345678901234567890", "18446744073709551615"), Pair("", "x")));
}

TEST_F(JsonLines, NullAndAMissingKeyAreAnEmptyField) {
  EXPECT_THAT(rows("{\"text\": \"a\", \"label\": 1}\n{\"text\": null, \"label\": null}\n{}\n"),
              ElementsAre(Pair("a", "1"), Pair("", ""), Pair("", "")));
}

TEST_F(JsonLines, BlankLinesLineEndsAndAByteOrderMarkDoNotMatter) {
  EXPECT_THAT(rows("\xEF\xBB\xBF\r\n{\"text\": \"a\", \"label\": 1}\r\n \t\r\n\n"
                   "  {\"text\": \"b\", \"label\": 2}  \r\n{\"text\": \"c\", \"label\": 3}"),
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", "3")));
  const TableQuestion question = ask("\n\n{\"text\": \"a\", \"label\": 1}\n\n{\"text\": 1}");
  RowSource source = open_source(question.path, inspect_table(question));
  ASSERT_TRUE(source.next());
  EXPECT_THAT(source.place(), testing::EndsWith("a.jsonl, row 1 (line 3)"));
  ASSERT_TRUE(source.next());
  EXPECT_THAT(source.place(), testing::EndsWith("a.jsonl, row 2 (line 5)"));
  EXPECT_FALSE(source.next());
}

TEST_F(JsonLines, ADotNamesANestedKeyUnlessAKeyHasThatName) {
  const Keys keys{"review.body", "stars.n.x"};
  EXPECT_THAT(rows(R"({"review": {"title": {"body": "no"}, "body": "a"}, "stars": {"n": {"x": 1}}}
{"stars": {"n": {"x": 2}, "x": 9}, "review.body": "b", "review": {"body": "no"}}
{"review": {"body": "no"}, "stars": {"m": 1}, "review.body": "c"}
{"review": [], "stars.n.x": 4, "review.body": "d"}
{"review": null, "stars": {"n": null}}
{"body": "no", "x": 1, "n": {"x": 2}, "list": [{"review": {"body": "no"}}]})",
                   keys),
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", ""), Pair("d", "4"),
                          Pair("", ""), Pair("", "")));
  expect_refused_row("{\"a\": \"b\"}", "key 'a' is a string, so there is no a.b",
                     "must be an object in every row", {"text", "a.b"});
  expect_refused_row("{\"a\": [{\"b\": 1}]}", "key 'a' is an array, so there is no a.b", "",
                     {"text", "a.b"});
}

TEST_F(JsonLines, ArraysAndObjectsAreNoText) {
  expect_refused_row("{\"text\": [\"a\", \"b\"], \"label\": 1}",
                     "key 'text' is an array, not a text or a number",
                     "jq -c '.text |= join(\" \")' OLD > NEW");
  expect_refused_row("{\"text\": \"a\", \"label\": {\"id\": 1}}",
                     "key 'label' is an object, not a text or a number",
                     "a dot names a key inside the object: label.KEY");
  expect_refused_row("{\"a\": {\"b\": {}}}", "key 'a.b' is an object", "a.b.KEY", {"text", "a.b"});
}

TEST_F(JsonLines, AnArrayIsItsTextsWhereThatIsAllowed) {
  const Keys list{"text", "label", "|"};
  EXPECT_THAT(rows(R"({"text": "a", "label": ["x", "y z", 1.50, true]}
{"label": [], "text": "b"}
{"label": [""], "text": "c", "other": ["x|", null, [1], {"label": 2}]}
{"text": "d", "label": "x|y"}
{"text": "e", "label": null}
{"text": "f", "label": ["é", "", "x"]})",
                   list),
              ElementsAre(Pair("a", "x|y z|1.50|true"), Pair("b", ""), Pair("c", ""),
                          Pair("d", "x|y"), Pair("e", ""), Pair("f", "\u00e9||x")));
  EXPECT_THAT(rows("{\"text\": \"a\", \"m\": {\"tags\": [\"x\", \"y\"]}}", {"text", "m.tags", " "}),
              ElementsAre(Pair("a", "x y")));
  const std::string hint = "bert_train puts '|' between the texts of the array";
  expect_refused_row("{\"text\": \"a\", \"label\": [\"x\", \"y|z\"]}",
                     "the array of key 'label' has the text 'y|z', which contains '|'", hint, list);
  expect_refused_row("{\"text\": \"a\", \"label\": [null]}", "the array of key 'label' has null",
                     hint, list);
  const std::string elements = "its elements must be texts or numbers";
  expect_refused_row("{\"text\": \"a\", \"label\": [\"x\", [\"y\"], \"z\"]}",
                     "the array of key 'label' has an array in it", elements, list);
  expect_refused_row("{\"text\": \"a\", \"label\": [{\"label\": 1}]}",
                     "the array of key 'label' has an object in it", elements, list);
  expect_refused_row("{\"text\": \"a\", \"label\": [\"x\"], \"label\": [\"y\"]}",
                     "key 'label' occurs twice in one object", "remove the other", list);
  expect_refused_row("{\"text\": [\"a\"], \"label\": [\"x\"]}", "key 'text' is an array",
                     "jq -c '.text |= join(\" \")' OLD > NEW", list);
}

TEST_F(JsonLines, AKeyThatOccursTwiceIsRefusedOnlyIfItLeadsToAValue) {
  const std::string hint = "remove the other";
  expect_refused_row("{\"text\": \"a\", \"label\": 1, \"text\": \"b\"}",
                     "key 'text' occurs twice in one object", hint);
  expect_refused_row("{\"a\": {\"b\": 1, \"b\": 2}}", "key 'a.b' occurs twice", hint,
                     {"text", "a.b"});
  expect_refused_row("{\"a\": {\"b\": 1}, \"a\": {}}", "key 'a' occurs twice", hint,
                     {"text", "a.b"});
  EXPECT_THAT(rows("{\"id\": 1, \"id\": 2, \"text\": \"a\", \"label\": 1, \"a\": {\"text\": 3}}"),
              ElementsAre(Pair("a", "1")));
}

TEST_F(JsonLines, RowsThatAreNotAnObjectAreRefused) {
  const std::string hint = "such as {\"text\": \"fine\", \"label\": 1}";
  expect_refused_row("[\"a\", 1]", "is an array, not an object", hint);
  expect_refused_row("\"a\"", "is a string, not an object", hint);
  expect_refused_row("12", "is a number, not an object", hint);
  expect_refused_row("null", "is null, not an object", hint);
  expect_refused_row("true", "is true or false, not an object", hint);
}

TEST_F(JsonLines, WhatIsNotJsonIsRefusedWithItsPlace) {
  const std::string hint = "each line must be one object";
  const auto refused = [&](const std::string& row, const std::string& text) {
    expect_refused_row(row, text, hint);
  };
  refused("{\"text\": nop}", "is not JSON at byte 11 of the line: invalid literal; last read: ");
  refused("{\"text\": \"a\",", "is not JSON at byte 14 of the line: unexpected end of input");
  refused("{\"text\": \"a\"} {}", "is not JSON at byte 15 of the line: unexpected '{'");
  refused("{'text': 'a'}", "is not JSON at byte 2 of the line: invalid literal");
  refused("{\"text\": NaN}", "is not JSON at byte 10 of the line: invalid literal");
  refused("{\"text\": 01}", "is not JSON at byte 11 of the line: unexpected number literal");
  refused("{\"text\": \"a\tb\"}",
          "is not JSON at byte 12 of the line: invalid string: control char");
  refused("{\"text\": \"\\ud800\"}",
          "is not JSON at byte 17 of the line: invalid string: surrogate");
  refused("{\"text\": \"\\udc00\"}",
          "is not JSON at byte 16 of the line: invalid string: surrogate");
  refused("{\"text\": \"\\ud83d\\u0041\"}",
          "is not JSON at byte 22 of the line: invalid string: sur");
  refused("{\"text\": \"a\"}\0"s, "is not JSON at byte 14 of the line: a zero byte");
  refused("{\"text\": \"" + std::string(1000, 'x'), "is not JSON at byte 1011 of the line: ");
  refused("{\"text\": 1e999}", "is not JSON at byte 14 of the line: number overflow parsing");
  expect_refused_row("{\"text\": \"caf\xE9\"}", "is not UTF-8: byte 0xE9 at offset 63 of the file",
                     "--encoding windows-1252");
}

TEST_F(JsonLines, ALongErrorIsCut) {
  try {
    (void)rows("{\"text\": 1, \"label\": 1}\n{\"text\": \"" + std::string(100000, 'x'));
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_LT(std::string(error.what()).size(), 400U);
  }
}

TEST_F(JsonLines, AnyDepthIsRead) {
  constexpr std::size_t kDepth = 200000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  std::string objects;
  for (std::size_t i = 0; i < kDepth; ++i) objects += "{\"text\":";
  objects += "1" + std::string(kDepth, '}');
  EXPECT_THAT(rows("{\"x\": " + deep + ", \"text\": \"a\", \"label\": 1}\n{\"y\": " + objects +
                   ", \"text\": \"b\", \"label\": 2}"),
              ElementsAre(Pair("a", "1"), Pair("b", "2")));
}

TEST_F(JsonLines, RowsMayBeLongerThanTheBuffer) {
  Rows expected;
  std::string content;
  for (std::size_t i = 0; i < 300; ++i) {
    const std::string text(i == 200 ? 3000000 : i * 37 % 9001, static_cast<char>('a' + i % 26));
    expected.emplace_back(text, std::to_string(i));
    content += concat("{\"text\": \"", text, "\", \"label\": ", i, "}\n");
  }
  EXPECT_TRUE(rows(content) == expected);
  EXPECT_TRUE(rows(gzip_of(content)) == expected);
}

TEST_F(JsonLines, AHalfDownloadedFileIsNoticed) {
  const std::string whole = "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 2}\n";
  expect_input_error(65, "a.jsonl, row 2 (line 2): is not JSON at byte 12 of the line: invalid s",
                     "", [&] { (void)rows(whole.substr(0, 37)); });
  std::string packed;
  for (int i = 0; i < 2000; ++i) packed += concat("{\"text\": \"", i * i, "\", \"label\": 1}\n");
  packed = gzip_of(packed);
  expect_input_error(65, "): the file ends inside its gzip data, at offset ", "gzip -t FILE",
                     [&] { (void)rows(packed.substr(0, packed.size() / 2)); });
}

TEST_F(JsonLines, AreFoundByTheirFirstBytesOrTheirName) {
  const auto format = [&](const std::string& name, const std::string& content, TextFormat asked) {
    return inspect_table(
               {.path = scratch_.write(name, content), .format = asked, .fields = text_and_label()})
        .format.text;
  };
  const std::string row = "{\"text\": \"a\", \"label\": 1}\n";
  for (const char* name : {"a.csv", "a.tsv", "a.json", "a"}) {
    EXPECT_EQ(format(name, row, TextFormat::automatic), TextFormat::jsonl) << name;
    EXPECT_EQ(format(name, "\xEF\xBB\xBF\n{ " + row.substr(1), TextFormat::automatic),
              TextFormat::jsonl);
    expect_input_error(65, concat(name, " is a JSON or JSON lines file, not a table"),
                       "--format jsonl", [&] { (void)format(name, row, TextFormat::csv); });
  }
  for (const char* name : {"a.jsonl", "a.NDJSON", "a.jsonl.gz"}) {
    expect_input_error(65, "row 1 (line 1): is not JSON at byte 2 of the line: invalid literal", "",
                       [&] { (void)format(name, "text,label\n", TextFormat::automatic); });
  }
  expect_input_error(65, "row 1 (line 1): is not JSON", "",
                     [&] { (void)format("a.csv", "text,label\n", TextFormat::jsonl); });
  expect_input_error(65, "is a JSON array, not JSON lines", "jq -c '.[]'",
                     [&] { (void)format("a.jsonl", "[" + row + "]", TextFormat::jsonl); });
  expect_input_error(65, "a.jsonl is empty", "a text and a label",
                     [&] { (void)format("a.jsonl", "\n \r\n", TextFormat::automatic); });
}

TEST_F(JsonLines, AKeyThatNoRowHasIsRefusedWithTheNearest) {
  const std::string content = "{\"id\": 1, \"review\": {\"body\": \"a\"}, \"stars\": 1}\n";
  const auto inspect = [&](const Keys& keys) {
    return [&, keys] { (void)inspect_table(ask(content, keys)); };
  };
  expect_input_error(2, "a.jsonl has no key 'text': its first row has id, review.body, stars",
                     "--text review.body", inspect({"text", "stars"}));
  expect_input_error(2, "has no key 'review.boddy'", "did you mean 'review.body'?",
                     inspect({"review.boddy", "stars"}));
  expect_input_error(2, "has no key '2'", "name the keys", inspect({"review.body", "2"}));
  expect_input_error(2, "text and label are both key 'stars'", "two keys",
                     inspect({"stars", "stars"}));
  const auto wrapped = [&] { (void)inspect_table(ask("{\"data\": [{\"text\": \"a\"}]}\n")); };
  expect_input_error(2, "has no key 'text': its first row has data[]",
                     "make one line of each: jq -c '.data[]' OLD > NEW", wrapped);
  expect_input_error(2, "its first row has none", "", [&] { (void)inspect_table(ask("{}")); });
  expect_input_error(2, "its first row has a, b.c, b.d[], e", "", [&] {
    (void)inspect_table(
        ask(R"({"a": 1, "b": {"c": 2, "d": [{"x": 1}], "f": {"g": 1}}, "e": null})"));
  });
  TableQuestion late =
      ask("{\"text\": \"a\"}\n{\"label\": null}\n{\"text\": \"b\", \"label\": 1}\n");
  EXPECT_EQ(inspect_table(late).keys[1], "label");
  late.path = scratch_.write("b.jsonl", "{\"text\": \"a\"}\n");
  expect_input_error(2, "has no key 'label'", "", [&] { (void)inspect_table(late); });
  late.answers = Answers::in_some_rows;
  EXPECT_EQ(inspect_table(late).name_of(1), "key 'label'");
}

TEST_F(JsonLines, GiveTheSameStoreAsATable) {
  const std::string table = write_rows("table.csv", 50);
  std::string lines;
  for (int row = 0; row < 50; ++row) {
    lines += concat("{\"label\": \"", row % 2 == 0 ? "good" : "bad", "\", \"text\": \"a b c\"}\n");
  }
  const std::string identity = SampleStore::open(run(options(table)).store).identity();
  PrepareOptions with = options(scratch_.write("lines.jsonl", lines));
  const std::string store = run(with).store;
  EXPECT_EQ(store, scratch_.path("lines.sqlite"));
  EXPECT_EQ(SampleStore::open(store).identity(), identity);
  EXPECT_TRUE(run(with).reused);
  with.task = classify({"--label", "other.label"});
  expect_refused(with, 2, "has no key 'other.label'", "name the keys with --text");
  with.task = classify({"--label", "label"});
  with.format = TextFormat::jsonl;
  EXPECT_TRUE(run(with).reused) << "the format was found before";
}

TEST_F(JsonLines, OnlyATestFileMayLackLabels) {
  const std::string train =
      "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"b\", \"label\": \"y\"}\n";
  PrepareOptions with = options(scratch_.write("train.jsonl", train));
  with.test_source = scratch_.write("test.jsonl", "{\"text\": \"c\"}\n{\"text\": \"d\"}\n");
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_EQ(store.size(Split::test), 2);
  EXPECT_EQ(label_of(store.load(Split::test, 0)), -1);
  with.store = scratch_.path("other.sqlite");
  with.dev_source = scratch_.write("dev.jsonl", train + "{\"text\": \"c\", \"label\": null}\n");
  expect_refused(with, 65, "dev.jsonl, row 3 (line 3): has no label",
                 "key 'label' is empty there; remove the row or label it");
}

TEST_F(JsonLines, AndTablesMayBePartsOfOneDataSet) {
  PrepareOptions with = options(scratch_.write(
      "train.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 2}\n"));
  with.dev_source = scratch_.write("dev.csv", "label,text\n1,c\n");
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_EQ(store.size(Split::train), 2);
  EXPECT_EQ(store.text(1, Split::dev), "c");
}

}  // namespace
}  // namespace bp::trainer
