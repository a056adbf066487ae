"""Settings of the site; every value comes from the environment (table in docs/operators.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF

from goblin_wire.protocol import MAX_JSON_BYTES
from gpugoblin_site import keys, logs
from gpugoblin_site.embedded_postgres import default_data_dir
from gpugoblin_site.mail import settings as mail_settings

_package = Path(__file__).resolve().parent
_checkout = _package.parents[1]
# In a checkout these folders lie at the root, in a wheel inside the package.
BASE_DIR = _checkout if (_checkout / "templates").is_dir() else _package

env = environ.Env()

# --- the network --------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", default=False)
GOBLIN_STATE_DIR = Path(
    env.str("GOBLIN_STATE_DIR", default=str(default_data_dir().with_name("site")))
)
GOBLIN_SITE_URL = env.str("GOBLIN_SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
GOBLIN_WAIT_URL = env.str("GOBLIN_WAIT_URL", default="http://127.0.0.1:8001").rstrip("/")
GOBLIN_ALLOW_PRIVATE_ENDPOINTS = env.bool("GOBLIN_ALLOW_PRIVATE_ENDPOINTS", default=False)
GOBLIN_TRUSTED_PROXIES = env.int("GOBLIN_TRUSTED_PROXIES", default=0)
"""How many reverse proxies stand before the site; so many addresses of X-Forwarded-For count."""
GOBLIN_METRICS_TOKEN = env.str("GOBLIN_METRICS_TOKEN", default="")

_site = urlsplit(GOBLIN_SITE_URL)
_https = _site.scheme == "https"

# --- Django -------------------------------------------------------------------------------------
keys.configure(GOBLIN_STATE_DIR)
SECRET_KEY = env.str("SECRET_KEY", default="") or keys.django_secret()
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS", default=[_site.hostname or "127.0.0.1", "127.0.0.1", "localhost", "[::1]"]
)
CSRF_TRUSTED_ORIGINS = [GOBLIN_SITE_URL]
ROOT_URLCONF = "gpugoblin_site.urls"
WSGI_APPLICATION = "gpugoblin_site.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("vi", "Tiếng Việt")]
LOCALE_PATHS = [BASE_DIR / "locale", _package / "mail" / "locale"]
FORMAT_MODULE_PATH = ["gpugoblin_site.formats"]

INSTALLED_APPS = [
    "gpugoblin_site",
    "accounts",
    "research_access",
    "workunits",
    "accounts.admin_config.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "accounts.allauth_config.AllauthAccountConfig",
    "allauth.mfa",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "csp",
]

# Short on purpose: all of it is paid on every exchange of every volunteer.
MIDDLEWARE = [
    "gpugoblin_site.middleware.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "gpugoblin_site.middleware.ContentPolicyMiddleware",
    "gpugoblin_site.page_middleware.PageMiddleware",
]
# What PageMiddleware holds, in Django's order: for what people look at only.
PAGE_MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.LanguageMiddleware",
    "accounts.middleware.TimeZoneMiddleware",
    "gpugoblin_site.middleware.BoundedFormMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.middleware.SecondFactorMiddleware",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


# --- database -----------------------------------------------------------------------------------
DATABASE_URL = env.str("DATABASE_URL", default="")
GOBLIN_DATABASE_DIR = Path(env.str("GOBLIN_DATABASE_DIR", default=str(default_data_dir())))
"""Where the embedded PostgreSQL keeps its data, if DATABASE_URL names no other."""
_persistent = {
    "ENGINE": "gpugoblin_site.database",
    "CONN_MAX_AGE": None,
    "CONN_HEALTH_CHECKS": True,
}
# The embedded server is started by the first connection, not by reading the settings.
_embedded = {
    "NAME": "gpugoblin",
    "EMBEDDED": {
        "data_dir": GOBLIN_DATABASE_DIR,
        "durable": env.bool("GOBLIN_DATABASE_DURABLE", default=True),
    },
}
_server: Any = env.db_url_config(DATABASE_URL) if DATABASE_URL else _embedded
# Planning the statements of an exchange costs more than running them, so each connection plans them
# once (gpugoblin_site/database/pipeline.py; the driver itself prepares nothing). Such a plan may be
# older than the growth of its tables, so it must go by indexes.
_planning = {
    "options": (
        "-c plan_cache_mode=force_generic_plan -c jit=off"
        " -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
    ),
}
_options = {**_planning, **_server.get("OPTIONS", {})}
DATABASES = {"default": {**_server, **_persistent, "OPTIONS": _options}}

# --- people and sessions ------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.Account"
AUTHENTICATION_BACKENDS = ["accounts.backends.SessionBackend"]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/start/"
SESSION_ENGINE = "accounts.sessions"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = _https
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "gpugoblin_site.problems.csrf_failure"

# --- log-in by code and second factor (django-allauth) ------------------------------------------
ACCOUNT_ADAPTER = "accounts.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_USER_MODEL_EMAIL_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*"]
ACCOUNT_EMAIL_VERIFICATION = "none"  # our code proves the address before allauth is asked
MFA_ADAPTER = "accounts.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_TOLERANCE = 1  # clocks of telephones differ: the codes of half a minute before and after
# What allauth counts and remembers of second factors must be the same for every worker.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "accounts_cache",
        # Beyond so many it forgets counts of guesses: nobody should be able to make it forget.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

# --- mail ---------------------------------------------------------------------------------------
# smtp+tls://user:password@host:587 and the like; with none, mails are printed where they are sent.
EMAIL_URL = env.str("EMAIL_URL", default="") or "consolemail://"
_mail = mail_settings.of_url(EMAIL_URL)
EMAIL_BACKEND = _mail.backend
EMAIL_HOST = _mail.host
EMAIL_PORT = _mail.port
EMAIL_HOST_USER = _mail.user
EMAIL_HOST_PASSWORD = _mail.password
EMAIL_USE_TLS = _mail.starttls
EMAIL_USE_SSL = _mail.tls
EMAIL_FILE_PATH = _mail.folder
EMAIL_TIMEOUT = 15
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str(
    "GOBLIN_MAIL_FROM", default=f"GPU Goblin <noreply@{_site.hostname or 'localhost'}>"
)
GOBLIN_MAIL_BOUNCES = env.str("GOBLIN_MAIL_BOUNCES", default="")
"""Address that mail servers send reports to (the envelope's sender); none: the one of the From."""
GOBLIN_MAIL_AT_ONCE = env.bool("GOBLIN_MAIL_AT_ONCE", default=True)
"""Whether the process that wrote a mail tries to send it; the scheduler does in any case."""

# --- security -----------------------------------------------------------------------------------
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_JSON_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
DATA_UPLOAD_MAX_NUMBER_FILES = 10
SECURE_HSTS_SECONDS = 0 if DEBUG else 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = not DEBUG
SECURE_SSL_REDIRECT = _https and not DEBUG
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if GOBLIN_TRUSTED_PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
SILENCED_SYSTEM_CHECKS = [
    # These look for session, log-in, messages and CSRF in MIDDLEWARE; they are in PAGE_MIDDLEWARE.
    "admin.E408",
    "admin.E409",
    "admin.E410",
    "security.W003",
    "security.W002",  # frames are forbidden by the content security policy
    "security.W021",  # whether the name goes on the browsers' list is the operator's to decide
]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "base-uri": [NONE],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "img-src": [SELF, "data:"],
        "script-src": [SELF],
        "style-src": [SELF],
    },
}

# --- static files -------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# The few files are served from where they are: nothing has to be collected before the first start.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 0 if DEBUG else 3600

# --- API ----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "gpugoblin_site.problems.rest_exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "GPU Goblin site",
    "DESCRIPTION": (
        "What programs of volunteers and labs say to the site. Errors are problem+json. A reply"
        " with a `wait_url` and a `ticket` invites to wait: `GET wait_url?ticket=TICKET` (form"
        " encoded, no token) is held until it is worth coming back, at most 25 s, and answered"
        " with `{}`; a ticket that is none or too old with 403 `capability_invalid`, and"
        " one too many with 503 `unavailable`."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "POSTPROCESSING_HOOKS": ["gpugoblin_site.openapi.add_components"],
}

# --- logs ---------------------------------------------------------------------------------------
LOGGING_CONFIG = None
logs.configure(level=env.str("LOG_LEVEL", default="INFO"))
