"""A WordNet of a few nouns: real lines of WordNet 3.0's files, with its offsets."""

from pathlib import Path

LICENCE = "  1 This software and database is being provided to you, the LICENSEE, by  \n"
NOUNS = """\
church n 4 8 @ ~ #p %m %p + ; - 4 3 08082602 03028079 01032368 08082899
dog n 7 5 @ ~ #m #p %p 7 1 02084071 10114209 10023039 09886220 07676602 03901548 02710044
goose n 3 6 @ ~ #m #p %p + 3 1 01855672 10157744 07646821
hot_dog n 3 4 @ ~ #p %p 3 0 10187710 07697537 07676602
inch n 2 5 @ #p %p + ; 2 2 13649791 13713300
photo n 1 2 @ ~ 1 1 03925226
"""
EXCEPTIONS = "geese goose\n"
DOG, GOOSE, CHURCH, HOT_DOG, PHOTO = "n02084071", "n01855672", "n08082602", "n07697537", "n03925226"


def write_wordnet(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.noun").write_text(LICENCE + NOUNS)
    (folder / "noun.exc").write_text(EXCEPTIONS)
    return folder


def write_synsets(path: Path, *wnids: str) -> Path:
    path.write_text("".join(f"{wnid}\n" for wnid in wnids))
    return path
