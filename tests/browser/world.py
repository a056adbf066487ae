"""Fills the database with people and what they did, once for each language.

`main` runs inside the site's environment and prints JSON:
`{language: {"facts": {...}, "cookies": {who: {...}}}}`. Everything is made by the
services that pages and programs use. Names are Vietnamese in both languages, so that no word of
theirs is taken for a text that nobody translated.
"""

import json
import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db import models, transaction
from django.utils import timezone, translation

from accounts import login, roles, sign_in
from accounts import services as accounts
from accounts.authentication import Principal
from accounts.login import Visitor
from accounts.models import Account
from accounts.pages.common import BROWSER
from accounts.terms import TERMS_VERSION
from goblin_wire.capability import SigningKey
from goblin_wire.protocol import PROTOCOL
from goblin_wire.signin import SignInStart
from goblin_wire.states import VerdictKind
from goblin_wire.tokens import Scope
from research_access import services as access
from research_access.models import Lab, ProposalState, SavedReply
from research_access.services.invitations import token_hash
from research_access.services.rules import DEFAULT_DAILY_FLOPS
from tests.browser.people import cookies_of
from workunits import incidents, switches
from workunits.models import Host, LabNode, SwitchKind
from workunits.tests.world import Researcher, done, season, verdict
from workunits.tests.world import Volunteer as Machine

LANGUAGES = ("en", "vi")
VERSION = "0.1.0"
"""Of the machine's client."""
ANSWERS: dict[str, Any] = {
    "name": "Nguyễn Thị Hoài Thu",
    "institution": "Viện Toán học Hà Nội",
    "position": "Nghiên cứu viên",
    "web_page": "https://vien-toan.example.vn/thu",
    "field": "Đại số tuyến tính",
    "purpose": "Tích ma trận thưa và ma trận dày cho bài toán truyền nhiệt.",
    "kinds": ["products"],
    "size": "Khoảng 200 tích, cạnh 40 000.",
    "no_confidential": True,
    "noncommercial": True,
}


@dataclass
class World:
    """What was made for one language; `people` are the accounts by the names in `pages.py`."""

    language: str
    facts: dict[str, str] = field(default_factory=dict)
    people: dict[str, Account] = field(default_factory=dict)

    def person(self, who: str, name: str) -> Account:
        """A new account that has accepted the terms."""
        email = f"{who.replace('_', '-')}.{self.language}@vidu.example.org"
        account = accounts.create_account(email, name=name, language=self.language)
        account.person.time_zone = "Asia/Ho_Chi_Minh"
        account.person.terms_version, account.person.terms_accepted = TERMS_VERSION, timezone.now()
        account.person.save()
        self.people[who] = account
        return account


def main() -> None:
    """Make both worlds and print them."""
    made = {}
    for language in LANGUAGES:
        with transaction.atomic(), translation.override(language):
            world = World(language, {"app": "workunits", "how_to": "refusals"})
            build(world)
            rows(world.facts)
            cookies = {who: cookies_of(account) for who, account in world.people.items()}
            cookies["unproven"] = cookies_of(world.people["superuser"], proven=False)
            cookies["expected"] = {BROWSER: expected(language)}
        made[language] = {"facts": world.facts, "cookies": cookies}
    print(json.dumps(made))


def build(world: World) -> None:
    """Everybody, what they asked for, and what was computed."""
    world.person("newcomer", "Lê Văn Mới")
    reviewer = world.person("superuser", "Phạm Minh Châu")
    roles.make_superuser(reviewer)
    volunteer = world.person("volunteer", "Trần Quốc Bảo")
    volunteer.person.shown_name = "Bảo ở Huế"
    volunteer.person.save()
    SavedReply.objects.create(
        title=f"Thiếu kích thước ({world.language})",
        text_en="Mỗi ma trận lớn cỡ nào?",
        text_vi="Mỗi ma trận lớn cỡ nào?",
    )
    lab = requests_of(world, reviewer)
    proposals_of(world, reviewer)
    switch_of(world, reviewer)
    incidents_of(world, reviewer)
    computation(world, lab, volunteer)


def switch_of(world: World, operator: Account) -> None:
    """A client version that gets no work."""
    subject = switches.Subject(SwitchKind.VERSION, version=f"0.0.1-{world.language}")
    words = switches.Words(
        "This version loses results. Please install 0.1.0.",
        "Phiên bản này làm mất kết quả. Hãy cài bản 0.1.0.",
        "0.0.1 làm mất kết quả",
    )
    switches.switch_off(subject, words, operator)


def incidents_of(world: World, operator: Account) -> None:
    """One that is over and one that lasts."""
    now = timezone.now()
    incidents.tell(
        incidents.Telling(
            "The site could not be reached. Machines went on with what they had; nothing was lost.",
            "Không truy cập được trang. Các máy vẫn làm tiếp việc đã nhận; không mất gì cả.",
            now - timedelta(days=2, minutes=90),
            now - timedelta(days=2),
        ),
        operator,
    )
    lasting = incidents.Telling(
        "Mail leaves late, log-in codes too. We are mending the mail server.",
        "Thư gửi đi chậm, kể cả mã đăng nhập. Chúng tôi đang sửa máy chủ thư.",
        now - timedelta(minutes=20),
        None,
    )
    world.facts["incident"] = str(incidents.tell(lasting, operator).pk)


def requests_of(world: World, reviewer: Account) -> Lab:
    """A request in each state, and the lab of the approved one."""
    made = {}
    for state in ("draft", "submitted", "info_asked", "declined", "approved"):
        who = "researcher" if state == "approved" else f"applicant-{state}"
        account = world.person(who, ANSWERS["name"])
        made[state] = request = access.draft(account)
        access.save_draft(request, account, **ANSWERS)
        if state != "draft":
            access.submit_request(request, account)
        world.facts[f"request_{state}"] = str(request.key)
        world.facts[f"request_{state}_row"] = str(request.pk)
    access.reply(
        made["submitted"],
        world.people["applicant-submitted"],
        "Tôi xin bổ sung: bốn tích mỗi ngày.",
    )
    access.ask_info(made["info_asked"], reviewer, "Mỗi ma trận lớn cỡ nào?")
    access.decline(made["declined"], reviewer, "Việc tính này cần dữ liệu mật.")
    access.approve(made["approved"], reviewer)
    return lab_of(world)


def proposals_of(world: World, reviewer: Account) -> None:
    """One of the researcher's proposals in each state, the open one last."""
    researcher = world.people["researcher"]
    states = (ProposalState.DECLINED, ProposalState.PLANNED, ProposalState.BUILT, None)
    for number, state in enumerate(states, start=1):
        row = access.propose(
            researcher,
            what=f"Tích ma trận thưa với ma trận dày, cỡ {number}",
            purpose="Truyền nhiệt trong thanh kim loại.\nHiện tính bằng scipy.",
            reference="https://vien-toan.example.vn/bai-bao",
            size="40 000 x 40 000",
        )
        if state is not None:
            titles = ("Tích ma trận thưa", "Tích ma trận thưa")
            answer = access.Answer(state, "Cảm ơn bạn đã viết.", *titles)
            access.answer_proposal(row, reviewer, answer)


def lab_of(world: World) -> Lab:
    """The researcher's lab with a second member, a token and an invitation."""
    owner = world.people["researcher"]
    # Half of what was approved, so that another lab can be opened.
    lab = access.create_lab(owner, "Phòng Vật lý tính toán", DEFAULT_DAILY_FLOPS // 2)
    access.add_member(lab, world.person("member", "Đỗ Thùy Dương"), by=owner)
    accounts.issue_token(owner, Scope.LAB, lab=lab, label="máy chủ trong phòng")
    world.facts["lab"] = str(lab.key)
    access.invite(lab, "khach.moi@vidu.example.org", owner)
    invitation = access.invite(lab, world.people["newcomer"].person.email, owner)
    token = secrets.token_urlsafe(32)
    invitation.token_hash = token_hash(token)  # the real one is in the mail only
    invitation.save()
    world.facts["invitation"] = token
    return lab


def computation(world: World, lab: Lab, account: Account) -> None:
    """Three jobs of the lab: one computed by the volunteer's machine, one begun, one cancelled."""
    season(account.pk)
    owner = world.people["researcher"]
    key = SigningKey.generate()
    researcher = Researcher(lab, Principal(owner.pk, owner.key, 0, lab.pk, lab.key), key)
    researcher.come_online()
    machine = Machine(Principal(account.pk, account.key, 0))
    researcher.job(8, flops=10**12)
    leases = machine.ask(6, label="máy bàn", version=VERSION).leases
    machine.ask(done=[done(lease) for lease in leases], version=VERSION)
    researcher.judge(
        *(verdict(lease) for lease in leases[1:]),
        verdict(leases[0], VerdictKind.REJECTED, code="wrong_entry"),
    )
    LabNode.objects.filter(lab=lab).update(reachable=False)
    world.facts["host"] = str(Host.objects.get(account=account).uid)
    world.facts["sign_in"] = sign_in.start(
        SignInStart(
            protocol=PROTOCOL, scope=Scope.VOLUNTEER, program="goblin-client", label="máy xách tay"
        ),
        "127.0.0.1",
    ).user_code


def expected(language: str) -> str:
    """Somebody who has asked for a code; the value that the browser shows."""
    browser = secrets.token_urlsafe(24)
    login.begin(f"expected.{language}@vidu.example.org", Visitor(browser, "127.0.0.1", language))
    return browser


def rows(facts: dict[str, str]) -> None:
    """One row of every model that the admin shows, where there is one."""
    for model in admin.site._registry:
        found = newest(model)
        if found is not None:
            facts[f"row {model._meta.label_lower}"] = str(found.pk)


def newest(model: type[models.Model]) -> models.Model | None:
    return model._default_manager.order_by("-pk").first()
