"""The tasks of the command line, one file each."""
