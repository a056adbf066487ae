// What sticks out sideways: [] on a page that fits. Boxes that scroll by themselves are their own
// matter, but neither the page nor its body may scroll or hide what does not fit.
() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  const root = document.scrollingElement;
  if (root.scrollWidth > width) found.push(`the page is ${root.scrollWidth} wide`);
  for (const each of [document.documentElement, document.body]) {
    if (["hidden", "clip"].includes(getComputedStyle(each).overflowX)) {
      found.push(`${each.tagName} hides what sticks out`);
    }
  }
  const scrolls = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible") return true;
    }
    return false;
  };
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    const seen = box.width > 1 && box.height > 1 && element.checkVisibility({ visibilityProperty: true });
    if (seen && (box.right > width + 1 || box.left < -1) && !scrolls(element)) {
      const name = `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
      found.push(`${name} "${element.textContent.trim().slice(0, 40)}" ${box.left}..${box.right}`);
    }
  }
  return found.slice(0, 8);
}
