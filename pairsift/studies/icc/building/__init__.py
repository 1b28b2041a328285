"""``task=icc_build``: builds an ICC scorer from captions in resumable steps, each with a folder and a manifest."""
