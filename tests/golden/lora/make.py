"""Makes the golden files of this folder and of patterns/: adapters of PEFT beside the model in ../bert, as PEFT saves them,
and what the two compute for ../bert's batch: logits, loss, gradients of what is trained, and the logits after PEFT has
merged them. In patterns/ all products have adapters, of different ranks and alphas, and with rsLoRA's scale.

    pip install torch==2.11.0 transformers==5.23.0 peft==0.21.2 safetensors numpy
    python make.py

The numbers are fp32 on CPU with plain ("eager") attention; dropout is off. "dense" is the end of four names of products,
the pooler's among them. The weights are changed before saving, because PEFT begins with B = 0.
"""
import json
import os

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import BertForSequenceClassification

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = os.path.join(HERE, "..", "bert")


def make(folder, base_name, **settings):
    torch.manual_seed(5)
    base = BertForSequenceClassification.from_pretrained(BASE, attn_implementation="eager")
    model = get_peft_model(base, LoraConfig(task_type="SEQ_CLS", r=2, lora_alpha=6, lora_dropout=0.25,
                                            modules_to_save=["classifier"], **settings))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    model.eval()
    batch = load_file(os.path.join(BASE, "expected.safetensors"))
    mask = (torch.arange(batch["ids"].shape[1])[None, :] < batch["lengths"][:, None]).long()
    inputs = {"input_ids": batch["ids"], "attention_mask": mask}
    out = model(**inputs, labels=batch["labels"])
    out.loss.backward()
    prefix = "base_model.model."
    expected = {key: batch[key] for key in ("ids", "lengths", "labels")}
    expected |= {"logits": out.logits.detach(), "loss": out.loss.detach().reshape(1)}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            name = name.removeprefix(prefix).replace(".default.", ".").replace("modules_to_save.", "")
            expected["grad." + name] = parameter.grad.clone()
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))
    path = os.path.join(folder, "adapter_config.json")
    with open(path) as file:
        config = json.load(file)
    config["base_model_name_or_path"] = base_name
    config["target_modules"] = sorted(config["target_modules"])
    with open(path, "w") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")
    with torch.no_grad():
        expected["merged"] = model.merge_and_unload()(**inputs).logits.clone()
    save_file(expected, os.path.join(folder, "expected.safetensors"))
    print(out.loss.item(), (expected["merged"] - expected["logits"]).abs().max().item())


make(HERE, "../bert", target_modules=["query", "value", "dense"])
make(os.path.join(HERE, "patterns"), "../../bert", target_modules="all-linear", use_rslora=True,
     rank_pattern={"layer.1.attention.self.query": 3, "intermediate.dense": 4},
     alpha_pattern={"layer.0.output.dense": 5, "output.dense": 8.5})
