"""The public pages, the first steps after log-in, the menus, and the language switch."""
