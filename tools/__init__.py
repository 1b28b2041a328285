"""Tools that made the demo: its world, and its scale models. They are not part of the wheel."""
