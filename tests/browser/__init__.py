"""The site as people meet it: Debian's Chromium before a whole network of real processes.

`pages.py` lists every page, `world.py` fills the database that they show, `checks.py` says what
must hold on each; the roads (`test_road_*.py`) are walked by clicking.
"""
