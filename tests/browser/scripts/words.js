// The words that a reader of the page meets, without code, and those of labels and hints.
() => {
  const skipped = "code, pre, kbd, samp, script, style, [lang]:not(html), [translate=no], .notranslate";
  const found = [document.title, document.querySelector("meta[name=description]")?.content ?? ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent.closest(skipped)) found.push(walker.currentNode.data);
  }
  for (const element of document.body.querySelectorAll("[title], [aria-label], [placeholder], [alt], [data-label]")) {
    if (element.closest(skipped)) continue;
    for (const name of ["title", "aria-label", "placeholder", "alt", "data-label"]) {
      found.push(element.getAttribute(name) ?? "");
    }
  }
  for (const element of document.body.querySelectorAll("input[type=submit], input[type=button]")) {
    found.push(element.value);
  }
  return found.map((each) => each.trim()).filter(Boolean);
}
