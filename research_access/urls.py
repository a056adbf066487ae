"""Addresses of requests for access, labs and invitations."""

from __future__ import annotations

from django.urls import path

from research_access.pages import invitations, labs, members, moves, proposals, requests, tokens

urlpatterns = [
    path("access/", requests.my_requests, name="access"),
    path("access/new/", requests.begin, name="access-new"),
    path("access/<uuid:key>/", requests.one_request, name="access-request"),
    path("access/<uuid:key>/draft/", moves.autosave, name="access-draft"),
    path("access/<uuid:key>/message/", moves.say, name="access-message"),
    path("access/<uuid:key>/withdraw/", moves.withdraw, name="access-withdraw"),
    path("access/<uuid:key>/again/", moves.again, name="access-again"),
    path("proposals/", proposals.proposals, name="proposals"),
    path("proposals/<uuid:key>/withdraw/", proposals.withdraw, name="proposal-withdraw"),
    path("labs/", labs.my_labs, name="labs"),
    path("labs/<uuid:key>/", labs.one_lab, name="lab"),
    path("labs/<uuid:key>/share/", labs.share, name="lab-share"),
    path("labs/<uuid:key>/invite/", members.invite, name="lab-invite"),
    path("labs/<uuid:key>/invitations/<int:number>/", members.take_back, name="lab-take-back"),
    path("labs/<uuid:key>/members/<int:number>/", members.change, name="lab-member"),
    path("labs/<uuid:key>/leave/", members.leave, name="lab-leave"),
    path("labs/<uuid:key>/tokens/", tokens.create, name="lab-tokens"),
    path("labs/<uuid:key>/tokens/<int:number>/", tokens.revoke, name="lab-token-revoke"),
    path("invitations/<str:token>/", invitations.invitation, name="invitation"),
]
