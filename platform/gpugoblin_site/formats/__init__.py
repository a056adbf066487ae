"""How dates and numbers are written, where Django's own way is not ours (FORMAT_MODULE_PATH)."""
