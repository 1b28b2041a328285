"""Engines run one function over many pieces of work: in processes of this machine, or on a Ray cluster."""
