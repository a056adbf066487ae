// What moves without being asked for nowhere: copy buttons appear only where this script runs.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = button.dataset.copied;
      setTimeout(() => { button.textContent = label; }, 2000);
    } catch {
      getSelection().selectAllChildren(code);
    }
  });
}
