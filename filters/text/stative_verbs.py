"""English stative verbs, which describe a state and not an action."""

# Being and having, thinking, feeling and perceiving, as grammars of English list them. Postures (sit, stand, lie) and
# "wear" or "hold" are visible and do not count as states.
_REGULAR = (
    "adore admire agree appear appreciate assume believe belong concern consist contain cost depend deserve desire "
    "despise detest differ disagree dislike doubt enjoy entail equal exist expect favor favour fear guess hate "
    "include intend interest involve lack like love matter measure mind need owe own possess prefer "
    "realise realize recall recognise recognize regard regret remain remember require resemble satisfy "
    "seem signify sound suffice suit suppose suspect tend trust value want weigh wish"
)
_IRREGULAR = (
    "be am is are was were been being 's 're 'm have has had having 've 'd "
    "feel feels felt feeling fit fits fitting fitted "
    "forget forgets forgot forgotten forgetting hear hears heard hearing know knows knew known knowing "
    "mean means meant meaning see sees saw seen seeing smell smells smelt smelled smelling "
    "taste tastes tasted tasting think thinks thought thinking understand understands understood understanding"
)


def _forms(verb: str) -> set[str]:
    """Return the regular forms of a verb, with and without the doubled letter of "preferred"."""
    stem = verb[:-1] if verb.endswith("e") else verb
    forms = {verb, f"{verb}s", f"{stem}es", f"{stem}ed", f"{stem}ing"}
    forms |= {f"{stem}{stem[-1]}ed", f"{stem}{stem[-1]}ing"}
    if verb.endswith("y"):
        forms |= {f"{verb[:-1]}ies", f"{verb[:-1]}ied"}
    return forms


# Forms, not lemmas, so that the result does not depend on a pipeline's lemmatizer.
STATIVE_FORMS = frozenset(_IRREGULAR.split()).union(*map(_forms, _REGULAR.split()))
