import numpy as np
import pytest
from PIL import Image

from filters.text_removal import FILLS, MAX_SIDE, remove_areas

BOX = [10, 12, 29, 12, 29, 21, 10, 21]  # corners, which are painted too
INSIDE = np.s_[12:22, 10:30]


def picture(background: tuple[int, int, int], size: tuple[int, int] = (60, 40)) -> np.ndarray:
    pixels = np.empty((size[1], size[0], 3), np.uint8)
    pixels[:] = background
    return pixels


@pytest.mark.parametrize("fill", FILLS)
def test_text_takes_the_colour_around_it(fill: str) -> None:
    pixels = picture((200, 30, 60))
    pixels[INSIDE] = 0
    painted = np.array(remove_areas(Image.fromarray(pixels), [BOX], fill))
    assert np.abs(painted.astype(int) - (200, 30, 60)).max() <= 4  # inpainting rounds


def test_surround_is_the_mean_of_the_ring() -> None:
    pixels = picture((0, 0, 0))
    pixels[:, 20:] = (
        100  # the area lies across the middle: as many pixels of one as of the other are around it
    )
    painted = np.array(remove_areas(Image.fromarray(pixels), [BOX], "surround"))
    assert (painted[INSIDE] == 50).all()
    assert (painted[:12] == pixels[:12]).all()


def test_inpainting_goes_on_with_what_is_there() -> None:
    pixels = picture((0, 0, 0))
    pixels[:] = np.arange(60, dtype=np.uint8)[None, :, None] * 4
    broken = pixels.copy()
    broken[INSIDE] = 255
    painted = np.array(remove_areas(Image.fromarray(broken), [BOX], "inpaint"))
    assert np.abs(painted[INSIDE].astype(int) - pixels[INSIDE]).mean() < 8
    assert (painted[:12] == pixels[:12]).all()


def test_other_text_does_not_colour_an_area() -> None:
    pixels = picture((200, 200, 200))
    pixels[INSIDE] = 0
    pixels[23:30, 10:30] = 0  # a second line right under the first
    below = [10, 23, 29, 23, 29, 29, 10, 29]
    painted = np.array(remove_areas(Image.fromarray(pixels), [BOX, below], "surround"))
    assert (painted == 200).all()


@pytest.mark.parametrize("fill", FILLS)
def test_areas_that_overlap_are_both_painted(fill: str) -> None:
    pixels = picture((200, 30, 60))
    pixels[INSIDE] = 0
    halves = [[10, 12, 24, 12, 24, 21, 10, 21], [16, 12, 29, 12, 29, 21, 16, 21]]
    painted = np.array(remove_areas(Image.fromarray(pixels), halves, fill))
    assert np.abs(painted.astype(int) - (200, 30, 60)).max() <= 4


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize(
    "polygon",
    [
        [0, 0, 59, 0, 59, 39, 0, 39],  # everything
        [-50, -50, 200, -50, 200, 200, -50, 200],
        [100, 100, 120, 100, 120, 110, 100, 110],  # outside
        [5, 5, 5, 5, 5, 5],  # a point
        [5, 5, 50, 5],  # a line
    ],
)
def test_unusual_areas_keep_the_image_size(fill: str, polygon: list[int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    assert remove_areas(Image.fromarray(pixels), [polygon], fill).size == (60, 40)


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (3000, 2)])
@pytest.mark.parametrize("fill", FILLS)
def test_odd_sizes(size: tuple[int, int], fill: str) -> None:
    painted = remove_areas(Image.new("RGB", size), [[0, 0, 1, 0, 1, 1, 0, 1]], fill)
    assert max(painted.size) <= MAX_SIDE


def test_large_pictures_are_shrunk_with_their_areas() -> None:
    pixels = picture((200, 30, 60), (1200, 800))
    pixels[240:440, 200:600] = 0
    painted = remove_areas(Image.fromarray(pixels), [[190, 230, 610, 230, 610, 450, 190, 450]], "surround")
    assert painted.size == (512, 341)
    assert np.abs(np.array(painted).astype(int) - (200, 30, 60)).max() <= 1


def test_an_area_within_other_text_takes_the_mean_of_all_other_pixels() -> None:
    pixels = picture((200, 30, 60))
    pixels[5:35, 5:55] = 0
    areas = [[5, 5, 54, 5, 54, 34, 5, 34], [25, 18, 30, 18, 30, 22, 25, 22]]
    painted = np.array(remove_areas(Image.fromarray(pixels), areas, "surround"))
    assert (painted == (200, 30, 60)).all()


@pytest.mark.parametrize("fill", FILLS)
def test_text_all_over_the_image_becomes_its_mean_colour(fill: str) -> None:
    pixels = picture((0, 40, 80))
    pixels[:10] = (200, 40, 0)  # a quarter of the image
    painted = np.array(remove_areas(Image.fromarray(pixels), [[0, 0, 59, 0, 59, 39, 0, 39]], fill))
    assert (painted == (50, 40, 60)).all()
