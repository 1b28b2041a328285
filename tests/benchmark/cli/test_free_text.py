import pytest
from hydra import compose, initialize_config_dir

from benchmark.cli.free_text import quote_free_text
from benchmark.run.config import CONF, register_resolvers

SENTENCES = [
    "a dog on a beach",
    "Celebrating 20 years, EGEC shares a declaration",
    "the dog's \"bone\" (it's old): 50% = [half] {more}",
    "one \\ backslash, two \\\\ and one at the end \\",
    'quote after a backslash \\" here',
    "price ${oc.env:HOME} or \\${HOME}",
    "emoji 🙂 and é",
    "-3",
    "'quoted' at one end",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_reaches_the_configuration_unchanged(sentence: str) -> None:
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("config", quote_free_text([f"explain={sentence}"]))
    assert str(cfg.explain) == sentence


def test_urls_reach_the_configuration_unchanged() -> None:
    pattern, signed = "/data/{00000..00003}.tar", "https://h/0.tar?X-Amz-Signature=a&Expires=9"
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        overrides = ["pool=img2dataset", f"pool.url={pattern}", f"results_dir={signed}"]
        cfg = compose("config", quote_free_text(overrides))
    assert (cfg.pool.url, cfg.results_dir) == (pattern, signed)


def test_quoted_values_and_other_settings_stay_unchanged() -> None:
    arguments = [
        "filter=icc,clip",
        "explain='a, b'",
        "explain=null",
        "explain=",
        "-m",
        "+explain.x=a b",
        "pool.url=${x}",
        "size={a,b}",
    ]
    assert quote_free_text(arguments) == arguments
