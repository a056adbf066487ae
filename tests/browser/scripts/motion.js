// What moves although the reader asked for calm: [] when nothing does.
() => {
  const found = document.getAnimations().map((each) => `${each.effect?.target?.tagName} animates`);
  const seconds = (text) => Math.max(...text.split(",").map((part) => parseFloat(part) || 0));
  for (const element of document.querySelectorAll("*")) {
    const style = getComputedStyle(element);
    const longest = Math.max(seconds(style.transitionDuration), seconds(style.animationDuration));
    const name = `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
    if (longest > 0.01) found.push(`${name} takes ${longest} s`);
    if (style.scrollBehavior === "smooth") found.push(`${name} scrolls smoothly`);
  }
  return found.slice(0, 8);
}
