"""Texts through CLIP without the padding that none of them needs: the same vectors, for every kind of text tower."""

from typing import Any

import pytest
import torch
from open_clip import SimpleTokenizer
from open_clip.coca_model import CoCa
from open_clip.model import CLIP, CustomTextCLIP

from benchmark.models.clip_models import ClipModel

CAPTIONS = [
    "a cat",
    "",
    "word " * 100,
    "a dog in the park at night!",
    "!",
    "a <end_of_text> b",
    *["two cats"] * 30,
]
VISION = {"image_size": 32, "patch_size": 16, "width": 32, "layers": 1, "head_width": 16}
TEXT = {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}


def clip(kind: Any, **text: Any) -> tuple[ClipModel, list[tuple[int, ...]]]:
    """Return a CLIP with random weights, and the shapes that its text tower gets."""
    torch.manual_seed(0)
    decoder = {"multimodal_cfg": TEXT} if kind is CoCa else {}
    network = kind(16, vision_cfg=VISION, text_cfg=TEXT | text, **decoder).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn_like(parameter) / 5)
    shapes: list[tuple[int, ...]] = []
    embedding = network.get_submodule("token_embedding" if kind is CLIP else "text.token_embedding")
    embedding.register_forward_pre_hook(lambda _, inputs: shapes.append(tuple(inputs[0].shape)))
    return ClipModel(network, None, SimpleTokenizer(), torch.device("cpu")), shapes


@pytest.mark.parametrize(
    ("kind", "text", "cut"),
    [
        (CLIP, {}, True),
        (CustomTextCLIP, {}, True),
        (CustomTextCLIP, {"pool_type": "eos", "eos_id": 49407}, True),
        (CustomTextCLIP, {"no_causal_mask": True}, False),
        (CustomTextCLIP, {"pool_type": "last"}, False),
        (CoCa, {"embed_cls": True, "output_tokens": True}, False),
    ],
)
def test_vectors_are_those_of_77_tokens(kind: Any, text: dict[str, Any], cut: bool) -> None:
    model, shapes = clip(kind, **text)
    vectors = model.project_texts(CAPTIONS)
    assert shapes == ([(32, 4), (4, 77)] if cut else [(32, 77), (4, 77)])
    for caption, vector in zip(CAPTIONS[:7], vectors, strict=False):
        with torch.no_grad():
            whole = model.model.encode_text(model.tokenizer([caption]))[0]
        torch.testing.assert_close(vector, whole, rtol=1e-5, atol=1e-5)
    assert shapes[-1] == (1, 77)  # the tower is as it was
    if cut:
        assert model.project_texts([]).shape == (0, 16)
