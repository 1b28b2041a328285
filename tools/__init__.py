"""Tools that made the demo's world and its scale models. They are not part of the wheel."""
