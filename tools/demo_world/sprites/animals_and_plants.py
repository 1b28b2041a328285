"""Sprites of animals and plants. A posture has its own sprite: "dog:sleeping" replaces "dog" for that action."""

from pairsift.demo.sprites import Part, Sprite
from tools.demo_world.sprites.shapes import arc, box, disc, line, oval, poly, star


def _eye(x: float, y: float, radius: float = 0.09) -> list[Part]:
    return [disc("snow", x, y, radius), disc("ink", x + 0.03, y, radius * 0.6)]


def _dog_head(x: float, y: float, *, asleep: bool = False) -> list[Part]:
    eye = [line("ink", 0.07, x - 0.02, y - 0.04, x + 0.16, y - 0.02)] if asleep else _eye(x + 0.08, y - 0.08)
    return [
        disc("main", x, y, 0.32),
        oval("main", x + 0.28, y + 0.1, 0.24, 0.16),
        disc("ink", x + 0.48, y + 0.04, 0.09),
        oval("dark", x - 0.22, y + 0.02, 0.13, 0.32, turn=12),
        *eye,
    ]


def _cat_head(x: float, y: float, *, asleep: bool = False) -> list[Part]:
    eye = [line("ink", 0.06, x + 0.02, y, x + 0.16, y)] if asleep else _eye(x + 0.14, y - 0.04, 0.08)
    return [
        poly("main", x - 0.3, y - 0.1, x - 0.28, y - 0.56, x, y - 0.26),
        poly("main", x + 0.3, y - 0.1, x + 0.28, y - 0.56, x, y - 0.26),
        disc("main", x, y, 0.33),
        *eye,
        poly("rose", x + 0.24, y + 0.06, x + 0.36, y + 0.06, x + 0.3, y + 0.14),
        line("ink", 0.04, x + 0.2, y + 0.14, x - 0.12, y + 0.2),
        line("ink", 0.04, x + 0.2, y + 0.1, x - 0.12, y + 0.08),
    ]


def _rabbit_head(x: float, y: float, *, asleep: bool = False) -> list[Part]:
    del asleep
    return [
        oval("main", x - 0.16, y - 0.5, 0.11, 0.42, turn=-12),
        oval("main", x + 0.1, y - 0.52, 0.11, 0.42, turn=8),
        oval("rose", x + 0.1, y - 0.5, 0.05, 0.3, turn=8),
        disc("main", x, y, 0.29),
        *_eye(x + 0.1, y - 0.04),
        disc("rose", x + 0.28, y + 0.06, 0.06),
    ]


HEADS = {"dog": _dog_head, "cat": _cat_head, "rabbit": _rabbit_head}
TAILS = {
    "dog": line("main", 0.15, -0.62, 0.1, -0.95, -0.35),
    "cat": line("main", 0.13, -0.6, 0.2, -0.88, 0.05, -0.82, -0.35, -0.95, -0.6),
    "rabbit": disc("snow", -0.68, 0.2, 0.17),
}


def _animal(kind: str) -> dict[str, Sprite]:
    """Return the postures of a four-legged animal."""
    head, tail = HEADS[kind], TAILS[kind]
    standing = [line("dark", 0.17, x, 0.3, x, 0.98) for x in (-0.5, -0.25, 0.2, 0.42)]
    running = [
        line("dark", 0.17, -0.4, 0.3, -0.95, 0.85),
        line("dark", 0.17, -0.3, 0.3, -0.6, 0.95),
        line("dark", 0.17, 0.25, 0.3, 0.6, 0.95),
        line("dark", 0.17, 0.35, 0.25, 0.95, 0.75),
    ]
    body = oval("main", -0.06, 0.2, 0.64, 0.32)
    return {
        kind: (tail, *standing, body, *head(0.5, -0.3)),
        f"{kind}:running": (tail, *running, body, *head(0.52, -0.25)),
        f"{kind}:jumping": (tail, *running, body, *head(0.52, -0.25)),
        f"{kind}:sitting": (
            line("main", 0.15, -0.4, 0.85, -0.85, 0.9, -0.95, 0.55),
            oval("main", -0.12, 0.42, 0.38, 0.6, turn=14),
            oval("dark", -0.2, 0.78, 0.36, 0.22),
            line("dark", 0.17, 0.2, 0.3, 0.26, 0.96),
            *head(0.14, -0.36),
        ),
        f"{kind}:sleeping": (
            oval("main", -0.1, 0.64, 0.78, 0.36),
            oval("dark", -0.45, 0.84, 0.34, 0.15),
            *head(0.52, 0.6, asleep=True),
            line("main", 0.13, -0.8, 0.7, -0.6, 0.95, 0.1, 0.95),
        ),
    }


def _petals(x: float, y: float, radius: float, size: float) -> list[Part]:
    flower = star("main", x, y, radius, radius, 3)
    return [disc("main", float(px), float(py), size) for px, py in flower.points]


ANIMALS_AND_PLANTS: dict[str, Sprite] = {
    **_animal("dog"),
    **_animal("cat"),
    **_animal("rabbit"),
    "bird": (
        poly("dark", -0.55, 0.1, -1, -0.15, -0.95, 0.3),
        oval("main", -0.1, 0.1, 0.58, 0.4),
        disc("main", 0.45, -0.25, 0.32),
        poly("gold", 0.7, -0.35, 1, -0.2, 0.7, -0.1),
        oval("dark", -0.15, 0.1, 0.34, 0.2, turn=-15),
        *_eye(0.52, -0.32),
        line("fire", 0.07, -0.1, 0.5, -0.1, 0.95),
        line("fire", 0.07, 0.12, 0.48, 0.12, 0.95),
    ),
    "bird:sitting": (
        poly("dark", -0.55, 0.4, -1, 0.15, -0.95, 0.6),
        oval("main", -0.1, 0.38, 0.6, 0.44),
        disc("main", 0.42, -0.05, 0.33),
        poly("gold", 0.68, -0.15, 1, 0, 0.68, 0.1),
        oval("dark", -0.15, 0.38, 0.36, 0.22, turn=-10),
        *_eye(0.5, -0.12),
        line("wood", 0.16, -1, 0.88, 1, 0.84),
        line("leaf", 0.14, 0.7, 0.84, 0.95, 0.6),
    ),
    "bird:flying": (
        poly("dark", -0.5, 0.2, -1, 0.05, -0.95, 0.45),
        oval("main", -0.05, 0.25, 0.6, 0.32),
        disc("main", 0.52, 0.02, 0.28),
        poly("gold", 0.74, -0.06, 1, 0.06, 0.74, 0.16),
        *_eye(0.58, -0.05),
        poly("dark", -0.35, 0.15, 0.2, 0.15, -0.05, -0.95, -0.55, -0.8),
    ),
    "fish": (
        poly("dark", -0.5, 0, -1, -0.5, -0.85, 0, -1, 0.5),
        poly("dark", -0.3, -0.35, 0.1, -0.85, 0.35, -0.4),
        poly("dark", -0.1, 0.4, 0.05, 0.8, 0.3, 0.35),
        oval("main", 0.15, 0, 0.78, 0.48),
        *_eye(0.6, -0.12, 0.13),
        arc("ink", 0.05, 0.9, 0.14, 0.14, 0.1, 90, 200),
    ),
    "butterfly": (
        oval("main", -0.46, -0.36, 0.5, 0.42, turn=35),
        oval("main", 0.46, -0.36, 0.5, 0.42, turn=-35),
        oval("main", -0.36, 0.4, 0.36, 0.34, turn=-30),
        oval("main", 0.36, 0.4, 0.36, 0.34, turn=30),
        disc("light", -0.5, -0.38, 0.15),
        disc("light", 0.5, -0.38, 0.15),
        oval("ink", 0, 0.05, 0.11, 0.68),
        line("ink", 0.06, 0, -0.55, -0.25, -0.95),
        line("ink", 0.06, 0, -0.55, 0.25, -0.95),
    ),
    "duck": (
        poly("main", -0.5, 0.2, -1, -0.1, -0.7, 0.6),
        oval("main", -0.1, 0.4, 0.72, 0.46),
        line("main", 0.3, 0.38, 0.2, 0.4, -0.3),
        disc("main", 0.42, -0.45, 0.32),
        poly("fire", 0.66, -0.55, 1, -0.38, 0.66, -0.28),
        *_eye(0.48, -0.54),
        oval("dark", -0.2, 0.38, 0.4, 0.22, turn=-10),
    ),
    "turtle": (
        oval("leaf", 0.75, 0.2, 0.25, 0.22),
        oval("leaf", -0.45, 0.7, 0.18, 0.28),
        oval("leaf", 0.35, 0.7, 0.18, 0.28),
        poly("leaf", -0.7, 0.5, -1, 0.7, -0.7, 0.7),
        oval("main", -0.08, 0.55, 0.76, 0.9, 180, 360),
        box("dark", -0.84, 0.5, 0.68, 0.64),
        line("dark", 0.07, -0.4, 0.5, -0.25, -0.2, 0.15, -0.2, 0.25, 0.5),
        disc("ink", 0.82, 0.14, 0.06),
    ),
    "snail": (
        poly("cream", -1, 1, 0.7, 1, 0.75, 0.2, 0.5, 0.2, 0.4, 0.7, -0.7, 0.75),
        line("cream", 0.09, 0.6, 0.3, 0.5, -0.25),
        line("cream", 0.09, 0.68, 0.3, 0.85, -0.2),
        disc("ink", 0.5, -0.25, 0.09),
        disc("ink", 0.85, -0.2, 0.09),
        disc("main", -0.2, 0.25, 0.58),
        arc("dark", 0.1, -0.2, 0.25, 0.36, 0.36, 0, 290),
        disc("dark", -0.2, 0.25, 0.12),
    ),
    "crab": (
        *[
            line("dark", 0.1, x * 0.5, 0.4, x * 0.85, 0.6, x * (0.7 + d), 1)
            for x in (-1, 1)
            for d in (0, 0.28)
        ],
        line("main", 0.12, -0.5, 0.2, -0.8, -0.25),
        line("main", 0.12, 0.5, 0.2, 0.8, -0.25),
        oval("main", -0.78, -0.5, 0.26, 0.34, -60, 240),
        oval("main", 0.78, -0.5, 0.26, 0.34, -60, 240),
        oval("main", 0, 0.35, 0.66, 0.42),
        line("dark", 0.07, -0.2, 0.1, -0.2, -0.2),
        line("dark", 0.07, 0.2, 0.1, 0.2, -0.2),
        *_eye(-0.2, -0.25, 0.12),
        *_eye(0.2, -0.25, 0.12),
    ),
    "whale": (
        poly("main", -0.55, 0.2, -1, -0.5, -0.7, -0.35, -0.45, -0.6, -0.3, 0.1),
        oval("main", 0.15, 0.35, 0.84, 0.58),
        oval("snow", 0.3, 0.7, 0.55, 0.22),
        oval("dark", 0.1, 0.6, 0.16, 0.3, turn=30),
        *_eye(0.65, 0.2, 0.1),
        line("glass", 0.1, 0.3, -0.3, 0.3, -0.7, 0.1, -0.95),
        line("glass", 0.1, 0.3, -0.7, 0.5, -0.95),
    ),
    "octopus": (
        *[line("main", 0.19, x * 0.5, 0.1, x * 0.95, 0.6, x * 0.8, 0.95) for x in (-1, 1)],
        *[line("main", 0.19, x * 0.2, 0.2, x * 0.4, 0.7, x * 0.25, 0.98) for x in (-1, 1)],
        oval("main", 0, -0.3, 0.6, 0.7),
        *_eye(-0.22, -0.15, 0.15),
        *_eye(0.22, -0.15, 0.15),
    ),
    "tree": (
        box("wood", -0.16, 0.2, 0.16, 1),
        disc("main", -0.42, 0.02, 0.44),
        disc("main", 0.42, 0.02, 0.44),
        disc("main", 0, -0.42, 0.55),
        disc("light", -0.18, -0.55, 0.14),
        disc("light", 0.4, -0.08, 0.12),
    ),
    "flower": (
        line("leaf", 0.12, 0, 0, 0, 1),
        oval("leaf", 0.28, 0.62, 0.3, 0.12, turn=-30),
        oval("leaf", -0.28, 0.75, 0.3, 0.12, turn=30),
        *_petals(0, -0.38, 0.36, 0.27),
        disc("gold", 0, -0.38, 0.23),
    ),
    "mushroom": (
        poly("cream", -0.22, 0, 0.22, 0, 0.32, 1, -0.32, 1),
        oval("main", 0, 0.15, 0.92, 1.1, 180, 360),
        disc("snow", -0.4, -0.25, 0.15),
        disc("snow", 0.15, -0.55, 0.17),
        disc("snow", 0.52, -0.12, 0.13),
    ),
    "cactus": (
        line("main", 0.24, -0.2, 0.45, -0.66, 0.4, -0.66, -0.15),
        line("main", 0.24, 0.2, 0.25, 0.66, 0.2, 0.66, -0.4),
        oval("main", 0, 0.1, 0.3, 1.05),
        line("dark", 0.05, -0.1, -0.7, -0.1, 0.9),
        line("dark", 0.05, 0.1, -0.7, 0.1, 0.9),
        disc("rose", 0, -0.9, 0.14),
    ),
    "apple": (
        oval("main", -0.28, 0.2, 0.55, 0.72),
        oval("main", 0.28, 0.2, 0.55, 0.72),
        line("wood", 0.11, 0, -0.35, 0.08, -0.85),
        oval("leaf", 0.34, -0.75, 0.3, 0.13, turn=-25),
        oval("light", -0.4, -0.05, 0.1, 0.2, turn=20),
    ),
}
