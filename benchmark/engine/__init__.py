"""Engines run one function over many pieces of work: on this machine's processes and GPUs, or on Ray."""
