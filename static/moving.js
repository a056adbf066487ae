// Parts of a page that move: they are asked for again while the page is looked at, and are left
// alone while somebody is in them.
"use strict";

for (const part of document.querySelectorAll("[data-every]")) {
  const again = () => {
    const inUse = part.contains(document.activeElement);
    if (!document.hidden && !inUse) htmx.trigger(part, "again");
  };
  setInterval(again, 1000 * Math.max(5, Number(part.dataset.every)));
  document.addEventListener("visibilitychange", again);
}
