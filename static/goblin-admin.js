// The decision page asks every few seconds who else looks at it; not while nobody sees it.
"use strict";

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden) event.preventDefault();
});
