"""English that must not be left on a Vietnamese page.

Common words that are no Vietnamese syllable too (`to`, `do`, `in`, `an`, `no`, `so`, `on`, `may`,
`can`, `long`, `song`, `hay`, `ban`, `cam` ... are). Names and loanwords that Vietnamese texts use
(Python, GPU, token, web, lab, e-mail) are simply not listed; phrases that hold a listed word and
are a name are taken out first.
"""

import re

NAMES = (
    "GPU Goblin",
    "PolyForm Noncommercial License",
    "PolyForm Noncommercial",
    "Required Notice",
    "Content-Security-Policy",
    "Apple Silicon",
    "Visual Studio",
    "Stable Diffusion",
    "Learning rate",
)

COMMON = """
the and of for with your you this that is are was were been being not from by it its or at as
have has had having will would should could shall must might which what when where who whom whose
how why there their they them he she his her we our us mine if then than else also only just
because while until since after before during between about into onto over under above below again
further once here all any both each few more most other others some such own same too very every
either neither nor but out off up down through without within against among across along already
always never often sometimes still yet now today yesterday tomorrow later soon first last next
previous another many much several enough less least first second third one two three four five six
seven eight nine hundred thousand million billion yes okay please thanks thank sorry welcome
hello dear does did done doing make makes made making take takes took taken give gives given
gave get gets got getting goes went gone going come comes came know knows known think want wants
wanted need needs needed use uses used using see sees saw seen look looks found find finds keep
keeps kept let lets leave leaves left put puts begin begins began start starts started stop stops
stopped run runs running ran open opens opened close closes closed show shows shown hide hidden tell
tells told say says said ask asks asked answer answers answered send sends sent receive received
write writes wrote written read reads change changes changed add adds added remove removes removed
delete deletes deleted save saves saved edit edits edited cancel cancels cancelled submit submits
submitted confirm confirms confirmed choose chooses chosen select selected search searches
download downloads upload uploads install installs installed connect connects connected disconnect
join joins joined accept accepts accepted decline declines declined approve approves approved revoke
revoked withdraw withdrawn reject rejected refuse refuses refused expire expires expired wait waits
waiting work works working worked compute computes computed computing computation computations
calculate verify verifies verified verification check checks checked fail fails failed failure
failures error errors warning warnings success successful successfully problem problems invalid
valid unknown missing required optional available unavailable empty none null true false new old
recent current active inactive enabled disabled pending ready free busy online offline paused
finished completed complete incomplete
account accounts user users person people member members owner owners name names address addresses
password passwords language languages time times date dates day days week weeks month months year
years hour hours minute minutes zone number numbers amount total totals sum average count counts
page pages home help contact about terms privacy policy cost costs licence license data file files
folder folders size sizes type types kind kinds state states status reason reasons detail details
description title message messages reply replies note notes text comment comments question questions
request requests access review reviewer reviewers reviewed decision decisions operator operators
queue history timeline event events action actions button link links form forms field fields value
values table tables chart charts row rows column columns list lists item items result results
machine machines computer computers device devices host hosts volunteer volunteers researcher
researchers laboratory laboratories labs job jobs unit units task tasks lease leases credit credits
network networks server servers client clients version versions memory speed share shares
contribution contributions leaderboard rank rate rates product products matrix matrices array
arrays graph graphs operation catalogue graphs example examples step steps
sign login logout log-in log-out sign-in sign-up signed logged session sessions device code codes
factor authentication administration admin's site settings setting profile export import
country institution institutions university position field purpose commercial noncommercial
confidential
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
ago left right back forward top bottom inside outside
"""

ENGLISH = frozenset(COMMON.split())
_word = re.compile(r"\b[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\b")
_address = re.compile(
    r"\S+@\S+|https?://\S+|\b[A-Z]\w+/\S+|\S+\.(?:com|org|net|vn|csv|zip|py|npy|txt)\b|/\S+/"
)


def english_in(text: str) -> list[str]:
    """The listed words in a text, as written; addresses and names do not count."""
    for name in NAMES:
        text = text.replace(name, " ")
    return [word for word in _word.findall(_address.sub(" ", text)) if word.lower() in ENGLISH]
