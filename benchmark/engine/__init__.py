"""Engines run one function over many shards: on this machine's processes and GPUs, or on a Ray cluster."""
