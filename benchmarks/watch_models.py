"""Small models of four families with random weights, for `circuit-explorer bench watch`, and its rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import look_up
from explorer.templates import gallery
from explorer.tensor.torch_io.importing import example_rows

Made = tuple[nn.Module, tuple[Any, ...]]
TOKENS = 90
TRAIN = ":train"
"""Suffix of the name of a model that is compiled with gradients."""


@dataclass(frozen=True, slots=True)
class WatchedModel:
    """A model by name; `make` returns it with inputs, and needs the package that is named like its family."""

    name: str
    family: str
    make: Callable[[], Made]
    is_training: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether the package of the family can be imported."""
        return self.family == CIRCUITS or find_spec(self.family) is not None


KINDS = {
    "refused": "refused because",
    "silent": "refused, no reason",
    "put-off": "put off",
    "untried": "never tried",
    "next": "called as one function",
    "later": "called as one function",
}
"""The kinds of seams after the last round of fusion."""
STAGES = ("captured", "lowered", "fused", "called")
"""The stages whose calls are counted."""


@dataclass(frozen=True, slots=True)
class WatchResult:
    """One row: calls per stage, what was compared, and what differs in words."""

    name: str
    family: str
    graphs: int = 0
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    same_code: bool = False
    same_output: bool | None = None
    kernels: int = 0
    same_kernels: bool = False
    seams: Mapping[str, int] = field(default_factory=dict[str, int])
    wrong: Sequence[str] = ()
    """What is wrong with seams or traces, or why there is no row."""
    plain_seconds: float = 0.0
    watched_seconds: float = 0.0
    file_bytes: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return self.same_code and self.same_kernels and self.same_output is not False and not self.wrong

    @property
    def ratio(self) -> float:
        """Processor time with watching over that without."""
        return self.watched_seconds / self.plain_seconds if self.plain_seconds else 0.0


CIRCUITS, VISION, TIMM, TRANSFORMERS = "circuits", "torchvision", "timm", "transformers"


def _circuit(name: str) -> Made:
    circuit: TorchCircuit = TorchCompiler(gallery.default_options(name)).compile(gallery.load_named(name))
    return circuit, (example_rows(circuit, 8),)


def _from(path: str) -> Any:
    """A function or class of a package that may not be installed."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _vision(path: str, size: int, **options: Any) -> Made:
    return _from(f"torchvision.models.{path}")(**options), (torch.randn(2, 3, size, size),)


def _resnet() -> Made:
    return _vision("ResNet", 64, block=_from("torchvision.models.resnet.BasicBlock"), layers=[1, 1, 1, 1])


def _convnext() -> Made:
    block = _from("torchvision.models.convnext.CNBlockConfig")
    return _vision("ConvNeXt", 64, block_setting=[block(24, 48, 1), block(48, None, 1)])


def _timm(name: str, size: int, **options: Any) -> Made:
    return _from("timm.create_model")(name, pretrained=False, **options), (torch.randn(2, 3, size, size),)


def _timm_class(path: str, **options: Any) -> Made:
    return _from(f"timm.models.{path}")(**options), (torch.randn(2, 3, 64, 64),)


def _language(model: str, config: str, **options: Any) -> Made:
    made = _from(f"transformers.{model}")(_from(f"transformers.{config}")(vocab_size=100, **options))
    return made, (torch.randint(TOKENS, (1, 16)),)


SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
GROUPED = {**SMALL, "num_key_value_heads": 2}
GPT2 = {"n_embd": 64, "n_head": 4}
_VISION: Mapping[str, Callable[[], Made]] = {
    "resnet": _resnet,
    "convnext": _convnext,
    "alexnet": partial(_vision, "alexnet", 64),
    "vgg11": partial(_vision, "vgg11", 32),
    "mobilenet_v3_small": partial(_vision, "mobilenet_v3_small", 64),
    "squeezenet1_1": partial(_vision, "squeezenet1_1", 64),
    "shufflenet_v2_x0_5": partial(_vision, "shufflenet_v2_x0_5", 64),
    "mnasnet0_5": partial(_vision, "mnasnet0_5", 64),
    "efficientnet_b0": partial(_vision, "efficientnet_b0", 64),
    "regnet_y_400mf": partial(_vision, "regnet_y_400mf", 64),
    "googlenet": partial(_vision, "googlenet", 96, init_weights=False),
    "densenet": partial(_vision, "densenet.DenseNet", 64, growth_rate=8, block_config=(2, 2, 2), num_init_features=16),
    "lraspp": partial(
        _vision, "segmentation.lraspp_mobilenet_v3_large", 64, weights=None, weights_backbone=None, num_classes=4
    ),
    "vit": partial(
        *(_vision, "vision_transformer.VisionTransformer", 32),
        image_size=32,
        patch_size=8,
        num_layers=2,
        num_heads=4,
        hidden_dim=64,
        mlp_dim=128,
    ),
    "swin": partial(
        *(_vision, "swin_transformer.SwinTransformer", 64),
        patch_size=[4, 4],
        embed_dim=24,
        depths=[2, 1],
        num_heads=[2, 4],
        window_size=[4, 4],
    ),
    "maxvit": partial(
        *(_vision, "maxvit.MaxVit", 64),
        input_size=(64, 64),
        stem_channels=16,
        partition_size=4,
        block_channels=[16],
        block_layers=[1],
        head_dim=8,
        stochastic_depth_prob=0.0,
    ),
}
_TIMM: Mapping[str, Callable[[], Made]] = {
    "mixer": partial(_timm_class, "mlp_mixer.MlpMixer", num_blocks=2, embed_dim=64, img_size=64),
    "poolformer": partial(_timm_class, "metaformer.MetaFormer", depths=(1, 1, 1, 1), dims=(16, 32, 48, 64)),
    "mobilevit": partial(_timm, "mobilevitv2_050", 128),
    "visformer": partial(_timm, "visformer_tiny", 224, depth=(1, 1, 1)),
    "crossvit": partial(_timm, "crossvit_9_240", 240, depth=((1, 1, 0), (1, 1, 0))),
    "swinv2": partial(_timm, "swinv2_cr_tiny_224", 224, depths=(1, 1, 1, 1)),
    "deit": partial(_timm, "deit_tiny_patch16_224", 224, depth=2),
    "beit": partial(_timm, "beit_base_patch16_224", 224, depth=2),
    "cait": partial(_timm, "cait_xxs24_224", 224, depth=2),
    "xcit": partial(_timm, "xcit_nano_12_p16_224", 224, depth=2),
    "ghostnet": partial(_timm, "ghostnet_050", 96),
    "res2net": partial(_timm, "res2net50_14w_8s", 96, layers=[1, 1, 1, 1]),
    "edgenext": partial(_timm, "edgenext_xx_small", 224, depths=(1, 1, 1, 1)),
    "levit": partial(_timm, "levit_128s", 224, depth=(1, 1, 1)),
    "convnextv2": partial(_timm, "convnextv2_atto", 224, depths=(1, 1, 1, 1)),
    "pit": partial(_timm, "pit_ti_224", 224, depth=[1, 1, 1]),
    "tnt": partial(_timm, "tnt_s_legacy_patch16_224", 224, depth=1),
    "davit": partial(_timm, "davit_tiny", 224, depths=(1, 1, 1, 1)),
}
_TRANSFORMERS: Mapping[str, Callable[[], Made]] = {
    "gpt2": partial(_language, "GPT2LMHeadModel", "GPT2Config", n_layer=2, **GPT2),
    "gpt2-24": partial(_language, "GPT2LMHeadModel", "GPT2Config", n_layer=24, **GPT2),
    "bert": partial(_language, "BertModel", "BertConfig", **SMALL),
    "roberta": partial(_language, "RobertaModel", "RobertaConfig", **SMALL),
    "distilbert": partial(
        _language, "DistilBertModel", "DistilBertConfig", dim=64, n_layers=2, n_heads=4, hidden_dim=128
    ),
    "albert": partial(_language, "AlbertModel", "AlbertConfig", embedding_size=32, **SMALL),
    "electra": partial(_language, "ElectraModel", "ElectraConfig", embedding_size=32, **SMALL),
    "deberta": partial(_language, "DebertaV2Model", "DebertaV2Config", **SMALL),
    "convbert": partial(_language, "ConvBertModel", "ConvBertConfig", embedding_size=64, **SMALL),
    "fnet": partial(_language, "FNetModel", "FNetConfig", hidden_size=64, num_hidden_layers=2, intermediate_size=128),
    "llama": partial(_language, "LlamaForCausalLM", "LlamaConfig", **GROUPED),
    "mistral": partial(_language, "MistralForCausalLM", "MistralConfig", **GROUPED),
    "qwen2": partial(_language, "Qwen2ForCausalLM", "Qwen2Config", **GROUPED),
    "gemma": partial(_language, "GemmaForCausalLM", "GemmaConfig", head_dim=16, **GROUPED),
    "phi": partial(_language, "PhiForCausalLM", "PhiConfig", **SMALL),
    "mixtral": partial(_language, "MixtralForCausalLM", "MixtralConfig", num_local_experts=2, **GROUPED),
    "falcon": partial(
        _language, "FalconForCausalLM", "FalconConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4
    ),
    "gptneox": partial(_language, "GPTNeoXForCausalLM", "GPTNeoXConfig", **SMALL),
    "bloom": partial(_language, "BloomForCausalLM", "BloomConfig", hidden_size=64, n_layer=2, n_head=4),
    "opt": partial(
        *(_language, "OPTForCausalLM", "OPTConfig"),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=128,
        word_embed_proj_dim=64,
    ),
    "xlnet": partial(_language, "XLNetModel", "XLNetConfig", d_model=64, n_layer=2, n_head=4, d_inner=128),
    "t5-encoder": partial(
        _language, "T5EncoderModel", "T5Config", d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4
    ),
    "mamba": partial(_language, "MambaModel", "MambaConfig", hidden_size=64, num_hidden_layers=2, state_size=8),
}
FAMILIES: Mapping[str, Mapping[str, Callable[[], Made]]] = {
    CIRCUITS: {name: partial(_circuit, name) for name in gallery.names()},
    VISION: _VISION,
    TIMM: _TIMM,
    TRANSFORMERS: _TRANSFORMERS,
}
TRAINED: Sequence[str] = (
    *("digits", "hmm", "resnet", "mobilenet_v3_small", "densenet", "vit"),
    *("mixer", "deit", "poolformer", "gpt2", "bert", "llama"),
)
"""The models that are also compiled with gradients."""


def _all_models() -> Mapping[str, WatchedModel]:
    made = {name: (family, make) for family, models in FAMILIES.items() for name, make in models.items()}
    every = [WatchedModel(name, family, make) for name, (family, make) in made.items()]
    every += [WatchedModel(name + TRAIN, *made[name], is_training=True) for name in TRAINED]
    return {model.name: model for model in every}


MODELS = _all_models()


def get_model(name: str) -> WatchedModel:
    """Return the model of this name. Raises: UnknownNameError."""
    return look_up("model", name, MODELS)
