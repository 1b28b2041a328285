"""What the ICC paper needs beside its filter: building a scorer, and concreteness."""
