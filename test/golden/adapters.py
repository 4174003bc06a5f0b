"""What PEFT and PyTorch compute of adapters beside the checkpoints.

Writes a folder adapters/NAME for each case in CASES: an adapter as PEFT saves one, with
random pairs, B too, and magnitudes, and in steps.json, in F64: tokens, the loss, of each pair's
gradients the norm, projections and the relative error of PyTorch's own F32; for some
the losses of 50 steps of AdamW; and logits.npy, F32 [tokens, vocabulary], of the first
sequence.
"""

import shutil
import sys

import numpy
import torch
from peft import LoraConfig, PeftModel, get_peft_model

import gradients
from gradients import HERE, describe, dump, loss_of, model_of, sequences_of

# Sizes that no tile divides; fused projections, those that are stored by input, tied
# embeddings, experts beside them. A case is called as its checkpoint; with "-dora" behind
# that, rows of the adapted weights have lengths that train.
CASES = {
    "llama-gqa": {"r": 5, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj", "down_proj"]},
    "gpt2-small": {"r": 3, "lora_alpha": 5, "use_rslora": True, "target_modules": ["c_attn", "c_proj", "c_fc"]},
    "phi3-partial": {"r": 4, "lora_alpha": 4, "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]},
    "qwen2-windows": {"r": 16, "lora_alpha": 32,
                      "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]},
    "gemma3-rope": {"r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "o_proj", "up_proj"]},
    "mixtral-top2": {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"]},
    "deepseekv3-yarn": {"r": 4, "lora_alpha": 8, "target_modules": ["q_a_proj", "q_b_proj", "o_proj"]},
    "llama-gqa-dora": {"r": 5, "lora_alpha": 8, "use_dora": True,
                       "target_modules": ["q_proj", "v_proj", "o_proj", "down_proj"]},
    "gpt2-small-dora": {"r": 3, "lora_alpha": 5, "use_rslora": True, "use_dora": True,
                        "target_modules": ["c_attn", "c_proj", "c_fc"]},
    "qwen2-windows-dora": {"r": 4, "lora_alpha": 8, "use_dora": True,
                           "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "up_proj"]},
}
STEPS = {"llama-gqa", "gpt2-small", "mixtral-top2", "llama-gqa-dora", "gpt2-small-dora"}


def checkpoint_of(name):
    return HERE / name.removesuffix("-dora")


def adapted(name, dtype):
    """The model with its adapter, of which the pairs alone have gradients."""
    model = model_of(checkpoint_of(name), dtype)
    return PeftModel.from_pretrained(
        model, HERE / "adapters" / name, is_trainable=True, autocast_adapter_dtype=False
    ).to(dtype).eval()


def saved_name(parameter):
    # PEFT saves the vector by its bare name.
    return parameter.replace("lora_magnitude_vector.default.weight", "lora_magnitude_vector").replace(".default.", ".")


def pairs_of(model):
    return {saved_name(name): parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def gradients_of(name, dtype, sequences):
    model = adapted(name, dtype)
    loss = loss_of(model, sequences)
    loss.backward()
    return loss.item(), {pair: parameter.grad.double() for pair, parameter in pairs_of(model).items()}


def losses(name, sequences):
    model = adapted(name, torch.float64)
    parameters = list(pairs_of(model).values())
    # Vectors do not decay.
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in parameters if p.ndim > 1]},
         {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0}], **gradients.ADAMW)
    result = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = loss_of(model, sequences)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, gradients.CLIP)
        optimizer.step()
        result.append(loss.item())
    return result


def write_adapter(name, settings):
    folder = HERE / "adapters" / name
    shutil.rmtree(folder, ignore_errors=True)
    model = get_peft_model(model_of(checkpoint_of(name), torch.float32), LoraConfig(task_type="CAUSAL_LM", **settings))
    generator = torch.Generator().manual_seed(7)
    # As after some training: B is not zero, and what it adds less than what is there;
    # rows are longer or shorter than they were.
    for pair, parameter in pairs_of(model).items():
        if pair.endswith("lora_magnitude_vector"):
            parameter.data = parameter.data * (1 + 0.1 * torch.randn(parameter.shape, generator=generator))
            continue
        size = 0.1 if ".lora_B." in pair else 1.0
        parameter.data = size * torch.randn(parameter.shape, generator=generator) / parameter.shape[1] ** 0.5
    # As a folder of the checkpoint's would be called, wherever it lies.
    model.peft_config["default"].base_model_name_or_path = checkpoint_of(name).name
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
    return folder


def write(name, settings):
    folder = write_adapter(name, settings)
    sequences = sequences_of(checkpoint_of(name))
    loss, exact = gradients_of(name, torch.float64, sequences)
    _, single = gradients_of(name, torch.float32, sequences)
    result = {"sequences": sequences.tolist(), "loss": loss, "tensors": describe(exact, single)}
    if name in STEPS:
        result["losses"] = losses(name, sequences)
    dump(folder / "steps.json", result)
    with torch.no_grad():
        logits = adapted(name, torch.float32)(sequences[:1, :-1]).logits[0]
    numpy.save(folder / "logits.npy", logits.numpy().astype(numpy.float32))
    print(name, loss)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for case, chosen in CASES.items():
        if len(sys.argv) < 2 or case in sys.argv[1:]:
            write(case, chosen)
