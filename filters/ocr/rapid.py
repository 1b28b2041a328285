"""RapidOCR: the PP-OCR models in its wheel, run in batches with RapidOCR's own pre- and postprocessing.

Detection is DB (Liao et al. 2020), recognition a CTC model (Shi et al. 2015) whose alphabet is in the model file.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.ranges import PositiveInt
from benchmark.core.requirements import Requirement, look
from benchmark.models.checkpoints import revision
from filters.ocr.features import Line, Polygon, TextSpotter

log = logging.getLogger(__name__)
Pixels = npt.NDArray[np.uint8]
LINE_HEIGHT = 48  # pixels, the recognition model's input height
WIDTH_STEP = 16  # pixels; two columns of the recognition model's output
LINE_WIDTHS = (32, 1536)  # minimum and maximum in pixels; longer lines are squeezed more
SQUEEZE = 0.75  # factor of a line's width: cost falls in proportion, errors on rendered text do not rise
# Larger images are shrunk to this longer side before lines are cut: OpenCV warps up to 32,767.
READ_SIDE = 4096
BLANK = 0  # the class of CTC between two characters
VERTICAL = 1.5  # height over width from which RapidOCR turns a line by a right angle before it reads it
# Per forward pass of either model: on a CPU, twice as many exceed its caches.
BATCH_PIXELS = {"CPUExecutionProvider": 4 * 128 * 128, "CUDAExecutionProvider": 2**22}


class RapidSpotter(TextSpotter):
    """Text lines by RapidOCR's models, without any download.

    Args:
        max_side: longer side in pixels that larger images are shrunk to for detection; smaller images stay.
        box_threshold: lowest mean probability of text in a detected line (0 to 1).
        unclip_ratio: factor by which a detected core is grown to the whole line.
        legible: lowest confidence of a line that counts as text. With 0.8, text is found in .985 of
            the demo's images with text and in .037 of its other images; with 0.5 in .986 and .104; by detection
            without reading in .986 and .232.
    """

    def __init__(
        self,
        max_side: PositiveInt = 1280,
        box_threshold: float = 0.65,
        unclip_ratio: float = 1.6,
        legible: float = 0.8,
    ) -> None:
        require("ocr")
        self.max_side = max_side
        self.box_threshold = box_threshold
        self.unclip_ratio = unclip_ratio
        self.legible = legible
        self._detector: Any = None
        self._reader: Any = None

    def identity(self) -> dict[str, Any]:
        """Add the hashes of both model files."""
        return super().identity() | {kind: revision(model_file(kind)) for kind in ("det", "rec")}

    def requirements(self) -> Iterator[Requirement]:
        """Yield both models."""
        for kind in ("det", "rec"):
            yield look(f"RapidOCR {kind}", partial(model_file, kind))

    def setup(self, device: Device) -> None:
        """Load both models onto `device`, with as many threads as torch has; warn if they cannot run on a GPU."""
        from rapidocr.ch_ppocr_det import main, utils
        from rapidocr.ch_ppocr_rec.utils import CTCLabelDecode

        self._detector, self._reader = _session("det", device), _session("rec", device)
        provider = self._detector.get_providers()[0]  # the CPU's, too, if CUDA's could not load its libraries
        self._batch_pixels = BATCH_PIXELS[provider]
        if device.type == "cuda" and provider != "CUDAExecutionProvider":
            log.warning(
                "text in images is read on the CPU: this onnxruntime cannot use the GPU; install"
                " onnxruntime-gpu in place of onnxruntime"
            )
        self._fit_size = utils.DetPreProcess(self.max_side, "max").resize
        self._sort_boxes = main.TextDetector.sorted_boxes
        self._find_boxes = utils.DBPostProcess(
            box_thresh=self.box_threshold, unclip_ratio=self.unclip_ratio, use_dilation=True
        )
        alphabet = self._reader.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._decode = CTCLabelDecode(alphabet).decode

    def detect(self, images: Sequence[Image.Image]) -> list[list[Polygon]]:
        """Return the quadrilaterals of each image's lines; images of the same size share a batch."""
        by_shape: dict[tuple[int, ...], list[tuple[int, Pixels]]] = defaultdict(list)
        for index, image in enumerate(images):
            pixels = self._fit_size(_bgr(image))
            if pixels is not None:  # None: too thin for text after shrinking
                by_shape[pixels.shape].append((index, pixels))
        detected: list[list[Polygon]] = [[] for _ in images]
        for same in by_shape.values():
            for part in _parts(same, self._batch_pixels):
                maps = _run(self._detector, [pixels for _, pixels in part])
                for (index, _), text_map in zip(part, maps, strict=True):
                    detected[index] = self._polygons(text_map, images[index])
        return detected

    def _polygons(self, text_map: npt.NDArray[np.float32], image: Image.Image) -> list[Polygon]:
        boxes, _ = self._find_boxes(text_map[None], (image.height, image.width))
        return [[round(v) for v in box.ravel().tolist()] for box in self._sort_boxes(boxes)]

    def read(self, images: Sequence[Image.Image], polygons: Sequence[Sequence[Polygon]]) -> list[list[Line]]:
        """Return the lines of each image. Crops of the same width share a batch, so that none is padded."""
        by_width: dict[int, list[tuple[tuple[int, int], Pixels]]] = defaultdict(list)
        for i, (image, areas) in enumerate(zip(images, polygons, strict=True)):
            for j, crop in _crop_lines(image, areas):
                by_width[crop.shape[1]].append(((i, j), crop))
        lines = [[Line("", 0.0)] * len(areas) for areas in polygons]
        for same in by_width.values():
            for part in _parts(same, self._batch_pixels):
                probabilities = _run(self._reader, [crop for _, crop in part])
                best = probabilities.argmax(axis=2)
                top = np.take_along_axis(probabilities, best[..., None], axis=2)[..., 0]
                texts, _ = self._decode(best, top, remove_duplicate=True)
                for ((i, j), _), (text, confidence) in zip(part, texts, strict=True):
                    lines[i][j] = Line(text.strip(), float(confidence))
        return lines

    def split_line(self, image: Image.Image, polygon: Polygon) -> list[tuple[str, Polygon]]:
        """Cut halfway between the columns of the CTC model in which a word ends and the next one starts."""
        crops = list(_crop_lines(image, [polygon]))
        if not crops:
            return []
        best = _run(self._reader, [crops[0][1]])[0].argmax(axis=1)
        # One per character.
        columns = np.flatnonzero((best != BLANK) & (np.diff(best, prepend=BLANK) != 0))
        text: str = self._decode(best[None], remove_duplicate=True)[0][0][0]
        words = list(re.finditer(r"\S+", text))
        gaps = [(columns[a.end() - 1] + columns[b.start()] + 1) / 2 / len(best) for a, b in pairwise(words)]
        edges = pairwise([0.0, *gaps, 1.0])  # one more than words if there are none
        return [(word[0], _part(polygon, *edge)) for word, edge in zip(words, edges, strict=False)]


def model_file(kind: str) -> Path:
    """Return the path of the `kind` model (``det`` or ``rec``) in RapidOCR's wheel. Raises `UserError`."""
    package = find_spec("rapidocr")
    folder = Path(
        package.submodule_search_locations[0] if package and package.submodule_search_locations else ""
    )
    files = sorted((folder / "models").glob(f"*_{kind}_*.onnx"))
    if len(files) != 1:
        raise UserError(
            f"RapidOCR's {kind} model is missing in {folder / 'models'}; reinstall the package rapidocr"
        )
    return files[0]


def _session(kind: str, device: Device) -> Any:
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False  # the arena would keep memory for every image size seen
    options.intra_op_num_threads = torch.get_num_threads()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")  # for its own threads
    # Shapes of images vary, and by default each new shape of each convolution tries all algorithms.
    search = {"cudnn_conv_algo_search": "HEURISTIC", "use_tf32": 0}
    cuda = ("CUDAExecutionProvider", {"device_id": device.index or 0, **search})
    usable = device.type == "cuda" and cuda[0] in onnxruntime.get_available_providers()
    with _denormals_as_zero():
        return onnxruntime.InferenceSession(
            str(model_file(kind)), options, providers=[*([cuda] if usable else []), "CPUExecutionProvider"]
        )


@contextmanager
def _denormals_as_zero() -> Iterator[None]:
    """Flush denormal numbers in this thread: they make the detection model 3.5 times as slow.

    The runtime's own setting affects the calling thread only for the first session of a process.
    """
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _run(session: Any, batch: list[Pixels]) -> npt.NDArray[np.float32]:
    """Return the model's output for n images of one size."""
    pixels = np.stack(batch).transpose(0, 3, 1, 2).astype(np.float32, order="C")
    pixels *= 1 / 127.5
    pixels -= 1
    with _denormals_as_zero():
        output: npt.NDArray[np.float32] = session.run(None, {session.get_inputs()[0].name: pixels})[0]
    return output


def _parts(same: list[tuple[Any, Pixels]], most: int) -> Iterator[list[tuple[Any, Pixels]]]:
    height, width = same[0][1].shape[:2]
    count = max(1, most // (height * width))
    for start in range(0, len(same), count):
        yield same[start : start + count]


def _part(polygon: Polygon, start: float, end: float) -> Polygon:
    """Return the part of a quadrilateral between two fractions of its length in the direction of reading."""
    corners = np.reshape(polygon, (4, 2)).astype(float)
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    if max(sides[1], sides[3]) >= VERTICAL * max(sides[0], sides[2]):
        corners = np.roll(corners, -1, axis=0)  # read from top to bottom
    top_left, top_right, bottom_right, bottom_left = corners
    top, bottom = top_right - top_left, bottom_right - bottom_left
    part = [
        top_left + start * top,
        top_left + end * top,
        bottom_left + end * bottom,
        bottom_left + start * bottom,
    ]
    return [round(value) for value in np.ravel(part).tolist()]


def _bgr(image: Image.Image) -> Pixels:
    """Return the pixels in OpenCV's channel order, which the models are trained on."""
    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])


def _crop_lines(image: Image.Image, polygons: Sequence[Polygon]) -> Iterator[tuple[int, Pixels]]:
    """Yield index and pixels of each line: straightened, 48 high, a multiple of `WIDTH_STEP` wide.

    Empty polygons are skipped; an image without polygons is not decoded.
    """
    from rapidocr.utils.process_img import get_rotate_crop_image

    if not polygons:
        return
    scale = min(1.0, READ_SIDE / max(image.size))
    if scale < 1:
        image = image.resize((max(1, round(scale * image.width)), max(1, round(scale * image.height))))
    pixels = _bgr(image)
    for index, polygon in enumerate(polygons):
        corners = _corners(scale * np.array(polygon, np.float32), *image.size)
        if corners is None:
            continue
        crop = get_rotate_crop_image(pixels, corners)
        width = SQUEEZE * LINE_HEIGHT * crop.shape[1] / crop.shape[0]
        # Stretched by at most half a step: batches need no padding, so a line's text does not depend on its batch.
        steps = round(float(np.clip(width, *LINE_WIDTHS)) / WIDTH_STEP)
        yield index, np.asarray(cv2.resize(crop, (WIDTH_STEP * steps, LINE_HEIGHT)), np.uint8)


def _corners(polygon: npt.NDArray[np.float32], width: int, height: int) -> npt.NDArray[np.float32] | None:
    """Return the four corners clipped to the image, clockwise from the top left; None if too thin."""
    points = polygon.reshape(-1, 2)
    if len(points) < 4:
        return None
    quad = points if len(points) == 4 else cv2.boxPoints(cv2.minAreaRect(points))
    points = np.asarray(np.clip(quad, 0, [width - 1, height - 1]), np.float32)
    sides = np.linalg.norm(points - np.roll(points, -1, axis=0), axis=1)
    return points if max(sides[0], sides[2]) >= 1 and max(sides[1], sides[3]) >= 1 else None
