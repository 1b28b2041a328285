"""The language of the demo's captions: words, names, phrases and sentences, built as dependency trees."""
