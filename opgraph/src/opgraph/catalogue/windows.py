"""Windows that move over the last axes of images: what convolution and pooling share.

Images are samples by channels by one or more axes of space. A window lies at every `strides`-th
place of the padded space; its positions are `dilations` apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from opgraph.catalogue.attributes import Attribute, Attributes, integers
from opgraph.errors import GraphError
from opgraph.tensors import Shape

MOST_POSITIONS = 1 << 16
"""In one window: each of them is a step of the programs that run here."""

LONGEST = 1 << 31
"""Of steps and of padded axes: what is multiplied of them still has a name in 64 bits."""

BLOCK_BYTES = 1 << 20
"""Images are taken together as long as what is made of them stays in cache."""

KERNEL = Attribute("kernel", "integers", "positions of a window along each axis of space")
SIZE = Attribute("size", "integers", "the space of the images that the gradient is of")
PLACING = (
    Attribute("strides", "integers", "from one window to the next along each axis of space"),
    Attribute("before", "integers", "padding before each axis of space"),
    Attribute("after", "integers", "padding after each axis of space"),
    Attribute("dilations", "integers", "from one position of a window to the next"),
)

Box = tuple[slice, ...]


@dataclass(frozen=True)
class Windows:
    """Where windows lie; every field has one number for each axis of space."""

    size: Shape
    kernel: Shape
    strides: Shape
    before: Shape
    after: Shape
    dilations: Shape

    @property
    def axes(self) -> range:
        return range(len(self.size))

    @cached_property
    def positions(self) -> int:
        """Of one window."""
        return prod(self.kernel)

    def reach(self, axis: int) -> int:
        """Elements from the first to the last position of a window."""
        return self.dilations[axis] * (self.kernel[axis] - 1) + 1

    @cached_property
    def padded(self) -> Shape:
        return tuple(map(sum, zip(self.before, self.size, self.after, strict=True)))

    @cached_property
    def places(self) -> Shape:
        """How many windows there are along each axis."""
        padded = self.padded
        return tuple((padded[n] - self.reach(n)) // self.strides[n] + 1 for n in self.axes)

    def boxes(self) -> Iterator[tuple[int, Box, Box]]:
        """For each position: its number, the places where it meets an element, and that element."""
        lines = [
            [(each, *self.line(axis, each)) for each in range(self.kernel[axis])]
            for axis in self.axes
        ]
        for number, chosen in enumerate(product(*lines)):
            places, elements = tuple(c[1] for c in chosen), tuple(c[2] for c in chosen)
            if all(each.start < each.stop for each in places):
                yield number, places, elements

    def line(self, axis: int, position: int) -> tuple[slice, slice]:
        """Along an axis the places where that position meets an element, and those elements."""
        step, size = self.strides[axis], self.size[axis]
        shift = position * self.dilations[axis] - self.before[axis]
        low = max(0, -(shift // step))
        high = min(self.places[axis], (size - 1 - shift) // step + 1)
        return slice(low, high), slice(low * step + shift, (high - 1) * step + shift + 1, step)


def windows(size: Shape, kernel: Shape, attributes: Attributes) -> Windows:
    """The windows that attributes describe. Raises GraphError where they cannot be."""
    placing = [integers(attributes, each.name) for each in PLACING]
    if not size or any(len(each) != len(size) for each in (kernel, *placing)):
        raise GraphError("wrong_shape", f"{list(size)} needs one number for each axis of space.")
    strides, before, after, dilations = placing
    if min((*strides, *dilations, *kernel)) < 1 or min((*before, *after)) < 0:
        raise GraphError("wrong_shape", "Strides, dilations and windows are above 0.")
    if max(*strides, *dilations, *map(sum, zip(before, size, after, strict=True))) > LONGEST:
        raise GraphError("wrong_shape", f"Steps and padded axes are at most {LONGEST} long.")
    if prod(kernel) > MOST_POSITIONS:
        raise GraphError("wrong_shape", f"A window has at most {MOST_POSITIONS} positions.")
    found = Windows(size, kernel, strides, before, after, dilations)
    if any(found.reach(n) > found.padded[n] for n in found.axes):
        raise GraphError("wrong_shape", f"A window of {list(kernel)} is larger than the space.")
    return found


def pooling_windows(size: Shape, attributes: Attributes) -> Windows:
    """The same where each window must meet an element. Raises GraphError."""
    found = windows(size, integers(attributes, KERNEL.name), attributes)
    for axis in found.axes:
        least = found.dilations[axis] if found.kernel[axis] > 1 else 1
        most = found.reach(axis) - 1
        if size[axis] < least or max(found.before[axis], found.after[axis]) > most:
            raise GraphError("wrong_shape", "A window would have nothing but padding.")
    return found


def space(shape: Shape) -> Shape:
    """The axes of space of images. Raises GraphError where there are none."""
    if len(shape) < 3:
        raise GraphError("wrong_shape", f"{list(shape)} is not samples by channels by space.")
    return shape[2:]


def images_in(nbytes: int, samples: int, room: int = BLOCK_BYTES) -> int:
    """Of so many images of `nbytes`, how many are taken together."""
    return max(1, min(samples, room // max(1, nbytes)))


def blocks(samples: int, together: int) -> Iterator[slice]:
    """Slices over the samples."""
    for start in range(0, samples, together):
        yield slice(start, min(samples, start + together))


def wide(box: Sequence[slice]) -> tuple[slice, ...]:
    """A box of space in all samples and channels."""
    return (slice(None), slice(None), *box)
