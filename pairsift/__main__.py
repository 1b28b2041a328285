"""``python -m pairsift``, which is ``python -m benchmark``."""

from benchmark.__main__ import main

if __name__ == "__main__":
    main()
