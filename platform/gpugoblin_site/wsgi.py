"""The site for gunicorn: `gunicorn --pythonpath platform gpugoblin_site.wsgi`."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpugoblin_site.settings")

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from gpugoblin_site.metrics import use_folder_of_run

use_folder_of_run(settings.GOBLIN_STATE_DIR)
application = get_wsgi_application()
