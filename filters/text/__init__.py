"""Reading captions: language, parts of speech, parses, nouns, chat models."""
