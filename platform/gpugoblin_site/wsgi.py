"""The site for gunicorn: `gunicorn --pythonpath platform gpugoblin_site.wsgi`."""

from __future__ import annotations

import gc
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpugoblin_site.settings")

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from gpugoblin_site.metrics import use_folder_of_run

use_folder_of_run(settings.GOBLIN_STATE_DIR)
application = get_wsgi_application()

# What was loaded stays until the end: no collection has to walk over it, and none is worth its time
# before a few requests' objects have gathered.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 20)
