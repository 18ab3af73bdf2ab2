//! CPython's random and NumPy's generators, draw for draw.
