import io
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.text_based import DEBIAN, ENDINGS, Nouns, TextBased, find_wordnet, read_synsets
from tests.extras import needs_extra
from tests.filters.wordnet_files import CHURCH, DOG, GOOSE, HOT_DOG, PHOTO, write_synsets, write_wordnet
from tests.pools import numbered_uids

pytestmark = needs_extra("language")

CPU = torch.device("cpu")
installed = pytest.mark.skipif(
    not (DEBIAN / "index.noun").is_file(), reason="no WordNet in /usr/share/wordnet; apt install wordnet-base"
)


def kept(made: TextBased, *texts: str) -> list[bool]:
    made.setup(CPU)
    scores = made.score(Batch(numbered_uids(len(texts)), list(texts)))
    assert set(scores[~np.isnan(scores)]) <= {1.0}
    return [bool(score == 1) for score in scores]


def small(folder: Path, *wnids: str) -> TextBased:
    return TextBased(str(write_synsets(folder / "ids.txt", *wnids)), str(write_wordnet(folder / "wordnet")))


KEPT = {
    "a dog is lying on the sofa": True,
    "two DOGS on the green grass": True,
    "the geese are flying over the lake": True,  # an exception
    "we went to see the old churches": True,  # ches -> ch
    "this is my very good dog, as always": False,  # "dog," is not a word of WordNet
    "a hot dog with mustard on the plate": True,  # by its "dog": words are looked up one by one
    "there is a box with a photo in it": False,  # not listed
    "it is three inches long and very thin": False,
    "perro dog que corre por la playa de España": False,  # not English
    "": False,
    "dog" * 100 + " and nothing else in here": False,
}


def test_captions_with_a_listed_noun_pass(tmp_path: Path) -> None:
    made = small(tmp_path, DOG, GOOSE, CHURCH)
    assert dict(zip(KEPT, kept(made, *KEPT), strict=True)) == KEPT
    sausage = "n07676602"  # the fifth sense of dog, the third of hot dog
    assert kept(small(tmp_path, sausage, HOT_DOG), "a dog is lying on the sofa") == [False]


def test_blank_lines_and_windows_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_bytes(b"n02084071\r\n\r\n n01855672\r\n")
    assert read_synsets(str(tmp_path / "ids.txt")) == {2084071, 1855672}


def test_ids_of_another_wordnet_are_refused(tmp_path: Path) -> None:
    made = small(tmp_path, DOG, "n02083346", "n01854415")  # WordNet 3.0's, and two that these files lack
    with pytest.raises(UserError, match=r"only 1 of its 3 ids.*one version, 3\.0"):
        made.setup(CPU)
    small(tmp_path, DOG, "n02083346").setup(CPU)  # half of them are known


def test_missing_files_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"must hold index.noun.*apt install wordnet-base"):
        find_wordnet(str(tmp_path))
    monkeypatch.setattr("filters.text_based.DEBIAN", tmp_path / "absent")
    monkeypatch.setattr("filters.text_based._nltk_locations", lambda: iter([]))
    with pytest.raises(UserError, match=r"not installed.*nltk.downloader wordnet"):
        find_wordnet(None)
    (tmp_path / "index.noun").write_text("a table of something else\n")
    with pytest.raises(UserError, match="must be a WordNet index"):
        Nouns(tmp_path)


def test_nltks_wordnet_comes_before_debians(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_wordnet(tmp_path / "files")
    archive = tmp_path / "packed" / "corpora" / "wordnet.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as target:
        for file in files.iterdir():
            target.write(file, f"wordnet/{file.name}")
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'absent'}:{tmp_path / 'packed'}")
    packed = find_wordnet(None)
    assert not isinstance(packed, Path)
    assert Nouns(packed).first_synset("Geese") == int(GOOSE[1:])
    folder = write_wordnet(tmp_path / "open" / "corpora" / "wordnet")
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'open'}:{tmp_path / 'packed'}")
    assert find_wordnet(None) == folder
    ids = str(write_synsets(tmp_path / "ids.txt", PHOTO))
    key = TextBased(ids).key()
    assert key == TextBased(ids, str(files)).key()
    (folder / "noun.exc").write_text("kine cow\n")
    assert TextBased(ids).key() != key


@installed
def test_every_noun_synset_of_the_real_files_is_known() -> None:
    nouns = Nouns(DEBIAN)
    assert len(nouns.offsets) == 82_115  # wnstats(7WN)
    known = {
        "dog": 2084071,
        "Women": 10787470,
        "geese": 1855672,
        "inches": 13649791,
        "womens": 10787470,
        "zzz": None,
    }
    assert {word: nouns.first_synset(word) for word in known} == known


@installed
@pytest.mark.slow
def test_the_first_synset_is_nltks(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # Debian's package lacks two files that nltk wants
        def open(self, file: str) -> object:
            names = "".join(f"{n:02d} {n:02d} 0\n" for n in range(45))
            return io.StringIO(names) if file == "lexnames" else super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            pass

    warnings.simplefilter("ignore")  # nltk misses the other languages
    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(DEBIAN)])  # nltk opens no other folder
    reader, nouns = Reader(str(DEBIAN), None), Nouns(DEBIAN)
    with (DEBIAN / "index.noun").open() as lines:
        lemmas = [line.split()[0] for line in lines if not line.startswith(" ")][::50]
    with (DEBIAN / "noun.exc").open() as lines:
        words = lemmas + [line.split()[0] for line in lines]
    for lemma in lemmas:
        words += [lemma.removesuffix(base) + ending for ending, base in ENDINGS if lemma.endswith(base)]
    assert len(words) > 5000
    wrong = [
        word
        for word in words
        if next((found.offset() for found in reader.synsets(word, "n")), None) != nouns.first_synset(word)
    ]
    assert wrong == []
