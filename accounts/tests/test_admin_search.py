"""Lists of the admin find what was typed without marks and capitals."""

from __future__ import annotations

import unicodedata

import pytest
from django.db.models import F
from django.utils import timezone

from accounts import services
from accounts.admin_search import Folded
from accounts.text import fold
from research_access import services as access
from research_access.models import Lab, SavedReply
from tests.browser.people import client_of
from workunits.models import LabNode

pytestmark = pytest.mark.django_db
NAMES = ("Phòng Đại số ứng dụng", "ĐẠI HỌC HUẾ", "Ünïvërsité d'Łódź", "R2-D2 100%_\\", "ấ đ Đ")


def test_the_database_folds_as_the_program_does(lab: Lab) -> None:
    for name in (*NAMES, *(unicodedata.normalize("NFD", name) for name in NAMES)):
        Lab.objects.filter(pk=lab.pk).update(name=name)
        assert Lab.objects.values_list(Folded(F("name")), flat=True)[0] == fold(name)


@pytest.mark.parametrize("typed", ["dai so", "Đại SỐ", "phong  ung", "PHÒNG ỨNG"])
def test_labs_are_found(lab: Lab, typed: str) -> None:
    Lab.objects.filter(pk=lab.pk).update(name=NAMES[0])
    LabNode.objects.create(lab=lab, last_seen=timezone.now())
    desk = client_of(services.make_operator("operator@example.org"))
    for model in ("research_access/lab", "workunits/labnode"):
        page = desk.get(f"/admin/{model}/", {"q": typed}).content.decode()
        assert NAMES[0] in page
        page = desk.get(f"/admin/{model}/", {"q": f"{typed} %"}).content.decode()
        assert NAMES[0] not in page


def test_a_lab_is_found_by_its_key(lab: Lab) -> None:
    desk = client_of(services.make_operator("operator@example.org"))
    page = desk.get("/admin/research_access/lab/", {"q": str(lab.key)}).content.decode()
    assert lab.name in page


def test_proposals_and_saved_replies_are_found(lab: Lab) -> None:
    access.propose(lab.owner, what="Tích thưa", purpose="Truyền nhiệt.")
    SavedReply.objects.create(title="Thiếu cỡ", text_en="How large?", text_vi="Cỡ nào?")
    desk = client_of(services.make_operator("operator@example.org"))
    for model, typed, shown in (
        ("proposal", "thua TICH", "Tích thưa"),
        ("savedreply", "thieu nao", "Thiếu cỡ"),
    ):
        page = desk.get(f"/admin/research_access/{model}/", {"q": typed}).content.decode()
        assert shown in page
        page = desk.get(f"/admin/research_access/{model}/", {"q": f"{typed} x"}).content.decode()
        assert shown not in page
