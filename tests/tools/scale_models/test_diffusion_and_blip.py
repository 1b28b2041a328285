"""The demo's Stable Diffusion and BLIP, loaded through the classes of the originals."""

import numpy as np
import pytest
import torch

from benchmark.models.clip_models import load_clip
from tools.demo_world.mix import CLEAN
from tools.scale_models import blip, diffusion
from tools.scale_models.autoencoder import image_batches, normalized, reconstruct
from tools.scale_models.data import HELD_OUT, Pairs
from tools.scale_models.export import MODELS


def held_out(samples: int, first: int) -> Pairs:
    return Pairs("llm", samples, 0, first + HELD_OUT, CLEAN, 64)


def test_blip_with_vit_weights_gives_the_vits_output() -> None:
    from transformers import BlipVisionConfig, BlipVisionModel, ViTModel

    vit = ViTModel.from_pretrained(MODELS / "vit", add_pooling_layer=False, local_files_only=True)
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "image_size",
             "patch_size", "layer_norm_eps")  # fmt: skip
    encoder = BlipVisionModel(BlipVisionConfig(**{name: getattr(vit.config, name) for name in names}))
    assert encoder.load_state_dict(blip.to_blip_names(vit.state_dict()), strict=False).missing_keys == []
    pixels = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = vit.eval()(pixels).last_hidden_state
        assert torch.allclose(encoder.eval()(pixels).last_hidden_state, expected, atol=1e-4)


# The tests below are about the shipped weights.


@pytest.mark.slow
def test_diffusion_images_match_their_captions() -> None:
    pipeline = diffusion.load(MODELS / "diffusion")
    assert type(pipeline).__name__ == "StableDiffusionPipeline"
    parts = (pipeline.vae, pipeline.unet, pipeline.text_encoder, pipeline.tokenizer, pipeline.scheduler)
    assert [type(part).__name__ for part in parts] == [
        "AutoencoderKL", "UNet2DConditionModel", "CLIPTextModel", "CLIPTokenizer", "DPMSolverMultistepScheduler",
    ]  # fmt: skip
    assert {pipeline.unet.dtype, pipeline.vae.dtype, pipeline.text_encoder.dtype} == {torch.float32}
    pairs = held_out(32, diffusion.FIRST)
    captions = [pairs[i].caption for i in range(len(pairs))]
    images = diffusion.generate(pipeline, captions, 0)
    assert {image.size for image in images} == {(64, 64)}
    assert all(np.asarray(image).std() > 10 for image in images)
    again = diffusion.generate(pipeline, captions[:2], 0)  # another batch, the same seeds
    assert abs(np.asarray(again[1], float) - np.asarray(images[1], float)).mean() < 1
    clip = load_clip(f"local-dir:{MODELS / 'clip'}", None, torch.device("cpu"))
    cosines = clip.embed_texts(captions) @ clip.embed_images(images).T
    assert np.diag(cosines).mean() > cosines.mean() + 0.02


@pytest.mark.slow
def test_the_autoencoder_reconstructs_images() -> None:
    pipeline = diffusion.load(MODELS / "diffusion")
    (batch,) = image_batches(held_out(32, diffusion.FIRST), 0)
    pictures = normalized(batch["pixels"])
    error = (reconstruct(pipeline.vae, pictures) - pictures).square().mean()
    assert error < 0.25 * (pictures - pictures.mean(dim=(0, 2, 3), keepdim=True)).square().mean()


@pytest.mark.slow
def test_blip_captions_match_their_images() -> None:
    model, processor = blip.load(MODELS / "blip")
    classes = [type(part).__name__ for part in (model, processor, processor.tokenizer)]
    assert classes == ["BlipForConditionalGeneration", "BlipProcessor", "BertTokenizer"]
    assert model.dtype == torch.float32
    image = held_out(1, blip.FIRST)[0].image
    pixels = processor.image_processor([image], return_tensors="pt")["pixel_values"]
    assert pixels.shape == (1, 3, 64, 64)
    beams = model.generate(pixels, num_beams=5, num_return_sequences=5, max_new_tokens=30)
    texts = processor.batch_decode(beams, skip_special_tokens=True)
    assert len(set(texts)) == 5
    assert all(len(text.split()) > 2 for text in texts)
    figures = blip.evaluate(MODELS / "blip", 1600, 0)
    assert figures["kind_right"] > 1.4 * figures["kind_by_chance"]
    assert figures["colour_right"] > 2 * figures["colour_by_chance"]
    assert figures["token_loss"] < 3.3  # a uniform guess has more than 7
