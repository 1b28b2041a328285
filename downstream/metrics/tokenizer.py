"""PTB tokenisation as in COCO's caption evaluation, with pycocoevalcap's jar.

pycocoevalcap's own wrapper writes its input into site-packages and relies on line numbers. Here the text goes through
a pipe, every caption is made one line first, and the returned lines are counted.
"""

import re
from collections.abc import Sequence

from pycocoevalcap.tokenizer.ptbtokenizer import PUNCTUATIONS

from benchmark.core.batch import model_text
from downstream.metrics.java import JARS, java_command, run_jar
from downstream.metrics.metric import Corpus, UnavailableError

JAR = JARS / "tokenizer" / "stanford-corenlp-3.4.1.jar"
START_SECONDS, SECONDS_PER_CAPTION = 60.0, 0.02
# Control characters (the jar ends a line at U+0085 too), line and paragraph separators, lone surrogates.
_NON_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def one_line(caption: str) -> str:
    """Return `caption` as one line of valid text, with runs of spaces and non-text characters as single spaces."""
    return " ".join(_NON_TEXT.sub(" ", caption).split())


def tokenize(captions: Sequence[str]) -> list[str]:
    """Return each caption as lower-case tokens, joined by spaces, without punctuation.

    Raises `UnavailableError` if the jar is missing, fails, or does not answer line by line.
    """
    if not captions:
        return []
    command = java_command("-cp", str(JAR), "edu.stanford.nlp.process.PTBTokenizer")
    command += ["-preserveLines", "-lowerCase"]
    seconds = START_SECONDS + SECONDS_PER_CAPTION * len(captions)
    output = run_jar("the PTB tokenizer", command, seconds, input="\n".join(map(one_line, captions)).encode())
    lines = output.decode("utf-8", "replace").split("\n")
    if len(lines) != len(captions):
        raise UnavailableError(f"the PTB tokenizer gave {len(lines)} lines for {len(captions)} captions")
    return [" ".join(w for w in line.rstrip().split(" ") if w not in PUNCTUATIONS) for line in lines]


def tokenize_corpus(corpus: Corpus) -> Corpus:
    """Tokenise all candidates and the references of their images in one run of the jar."""
    images = list(corpus.candidates)
    references = [reference for image in images for reference in corpus.references[image]]
    tokens = iter(tokenize([*corpus.candidates.values(), *references]))
    candidates = {image: next(tokens) for image in images}
    return Corpus(candidates, {image: [next(tokens) for _ in corpus.references[image]] for image in images})


def clean_corpus(corpus: Corpus) -> Corpus:
    """Return the corpus as metrics read it: the beginning of each caption in one line, of its images only."""
    return Corpus(
        {image: one_line(model_text(caption)) for image, caption in corpus.candidates.items()},
        {image: [one_line(model_text(t)) for t in corpus.references[image]] for image in corpus.candidates},
    )
