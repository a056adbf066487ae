"""Addresses of log-in, of the account and of programs that sign in."""

from __future__ import annotations

from django.urls import path

from accounts import api
from accounts.pages import deletion, device, export, factor, login, profile

urlpatterns = [
    path("api/v1/sign-in", api.start_sign_in),
    path("api/v1/sign-in/token", api.poll_sign_in),
    path("api/v1/sign-out", api.sign_out),
    path("login/", login.login_page, name="login"),
    path("login/", login.login_page, name="account_login"),  # allauth's name for it
    path("login/code/", login.code_page, name="login-code"),
    path("login/second-factor/", factor.authenticate, name="mfa_authenticate"),  # allauth's too
    path("logout/", login.logout_page, name="logout"),
    path("sign-in/", device.sign_in, name="sign-in"),
    path("account/", profile.account_page, name="account"),
    path("account/export/", export.export_page, name="account-export"),
    path("account/delete/", deletion.delete_page, name="account-delete"),
    path("account/sessions/<slug:key>/end/", profile.end_session, name="session-end"),
    path("account/sessions/end/", profile.log_out_everywhere, name="log-out-everywhere"),
    path("account/tokens/<int:token_id>/revoke/", profile.revoke_token, name="token-revoke"),
    path("account/second-factor/", factor.second_factor, name="second-factor"),
    path("account/second-factor/check/", factor.check, name="second-factor-check"),
]
