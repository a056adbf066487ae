// What is wrong with how a page complains about the fields that are named: [] when nothing is.
// Each has its sentence beside it, and says so to a screen reader; the summary before the form has
// the focus and leads to them.
(named) => {
  const found = [];
  const ids = (element) => (element?.getAttribute("aria-describedby") ?? "").split(/\s+/).filter(Boolean);
  const text = (element) => element?.textContent.trim() ?? "";
  for (const name of named) {
    const fields = [...document.querySelectorAll(`[name="${name}"]`)].filter((each) => each.type !== "hidden");
    const list = document.getElementById(`id_${name}_error`);
    if (!fields.length) { found.push(`${name}: no such field any more`); continue; }
    if (!list || !text(list)) { found.push(`${name}: no sentence`); continue; }
    if (!list.checkVisibility()) found.push(`${name}: the sentence is hidden`);
    const group = fields[0].closest("fieldset");
    const says = [...fields, group].some((each) => ids(each).includes(list.id));
    if (!says) found.push(`${name}: aria-describedby does not name the sentence`);
    if (!fields.some((each) => each.getAttribute("aria-invalid") === "true")) found.push(`${name}: no aria-invalid`);
    const box = fields[0].closest(".field, .form-row");
    if (!box?.contains(list)) found.push(`${name}: the sentence is not beside the field`);
    for (const id of [...fields, group].flatMap(ids)) {
      if (!document.getElementById(id)) found.push(`${name}: ${id} does not exist`);
    }
  }
  const summaries = [...document.querySelectorAll(".notice[role=alert]")].filter((each) => each.querySelector("ul"));
  const generic = document.querySelector(".errornote");
  if (generic) return found;
  if (summaries.length !== 1) return [...found, `${summaries.length} summaries`];
  const [summary] = summaries;
  if (document.activeElement !== summary) found.push(`the focus is on ${document.activeElement?.outerHTML.slice(0, 80)}`);
  if (!summary.checkVisibility()) found.push("the summary is hidden");
  const links = [...summary.querySelectorAll("a[href^='#']")];
  if (links.length < named.length) found.push(`the summary has ${links.length} links for ${named.length} fields`);
  for (const link of links) {
    if (!document.getElementById(link.hash.slice(1))) found.push(`${link.hash} leads nowhere`);
  }
  return found;
}
