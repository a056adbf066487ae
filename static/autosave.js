// A form with data-autosave is sent a moment after a pause in typing, at most every five seconds,
// and once more when its page is left before that.
"use strict";

for (const form of document.querySelectorAll("form[data-autosave]")) {
  const PAUSE = 1000;
  const APART = 5000;
  let timer = 0;
  let last = -APART;
  const save = () => {
    clearTimeout(timer);
    timer = 0;
    last = performance.now();
    form.dispatchEvent(new Event("autosave"));
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(save, Math.max(PAUSE, last + APART - performance.now()));
  });
  form.addEventListener("submit", () => {
    clearTimeout(timer);
    timer = 0;
  });
  const unsaved = document.getElementById("unsaved");
  form.addEventListener("htmx:afterRequest", (event) => { unsaved.hidden = event.detail.successful; });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && timer) save();
  });
  let left = false;
  addEventListener("pagehide", () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    left = navigator.sendBeacon(form.getAttribute("hx-post"), new FormData(form));
  });
  // A page that comes back as it was left does not know what was kept meanwhile.
  addEventListener("pageshow", () => { if (left) location.reload(); });
}
