"""Files that hold arrays: where the numbers lie in them, read without trusting the files.

For lab nodes and the researcher's package alike; needs the extra `formats`. Nothing here opens a
file by a path: callers hand in functions that read, and so decide which files may be read at all.
"""
