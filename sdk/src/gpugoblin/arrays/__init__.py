"""The functions on lazy arrays: the Array API 2024.12 over the operators of the catalogue.

`gpugoblin.xp` is the namespace; each module here has the functions of one subject. To add one:

- Write it in the module of its subject, with the signature of the standard, and list the name in
  the module's `__all__`; `gpugoblin/xp.py` takes over all of those.
- Take arguments with `building`: `array_of(x)` for one array, `arrays_of(x, y)` for several that
  may be Python scalars, `same_type(x, y)` for promotion, `same_shape(x, y)` for broadcasting,
  `of_kind("name", x, FLOATING)` where the standard asks for a kind. Casts and broadcasts are nodes
  of the graph; the helpers make none where nothing changes.
- `apply("operator", x, y, attribute=...)` makes a node and gives its one result as a lazy array;
  `apply_all` gives all of several. Attributes are exactly those of the declaration
  (`python -m opgraph catalogue`), shapes and axes as tuples, axes never negative
  (`axes.one_axis`, `axes.several_axes`).
- What is wrong with the arguments is raised at once: `ShapeMismatch` (a ValueError),
  `DtypeUnsupported` (a TypeError), `BadArgument` (a ValueError), `IndexOutOfRange`
  (an IndexError), `NotComputed` (a TypeError) where numbers would be needed. One sentence in the
  user's words, with the way out. What only the numbers show is raised while computing, with the
  operator, its operands and the user's line, by `evaluation`.
"""
