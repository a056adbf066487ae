// Marks everything that a keyboard must reach and watches what gets the focus; how many times Tab is
// pressed until all were reached.
() => {
  const wanted = "a[href], button, input, select, textarea, summary, [tabindex]";
  const name = (element) => {
    const text = element.labels?.[0]?.textContent || element.textContent || element.getAttribute("aria-label");
    return `${element.tagName.toLowerCase()} "${(text ?? "").trim().replace(/\s+/g, " ").slice(0, 40)}"`;
  };
  const stops = [...document.querySelectorAll(wanted)].filter(
    (each) =>
      each.tabIndex >= 0 && !each.disabled && each.type !== "hidden" && !each.closest("[inert]") &&
      each.checkVisibility({ visibilityProperty: true })
  );
  // Of radio buttons with one name the arrow keys move; Tab stops at one of them.
  const groups = new Set();
  const needed = stops.filter((each) => {
    if (each.type !== "radio") return true;
    const key = `${each.form?.id}/${each.name}`;
    return !groups.has(key) && groups.add(key);
  });
  const watch = { needed, reached: new Set(), invisible: new Set(), outside: new Set() };
  const seen = (element) => {
    const style = getComputedStyle(element);
    return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  };
  document.addEventListener("focusin", ({ target }) => {
    watch.reached.add(target.type === "radio" ? `${target.form?.id}/${target.name}` : target);
    if (!seen(target)) watch.invisible.add(name(target));
    const box = target.getBoundingClientRect();
    if (box.bottom < 0 || box.top > innerHeight) watch.outside.add(name(target));
  });
  window.goblinWatch = watch;
  window.goblinName = name;
  document.activeElement?.blur();
  // A day and a time are up to seven stops, though one element.
  const moments = needed.filter((each) => /^(date|time)/.test(each.type)).length;
  return needed.length + 7 * moments + 2;
}
