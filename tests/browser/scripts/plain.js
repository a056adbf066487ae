// What a reader without scripts is left with: [] when that is enough.
() => {
  const found = [];
  const visible = (each) => each.checkVisibility({ visibilityProperty: true });
  const heading = document.querySelector("h1");
  if (!heading || !visible(heading)) found.push("no heading to be seen");
  for (const form of document.querySelectorAll("form")) {
    const button = [...form.elements].find(
      (each) => each.matches("button:not([type=button]), input[type=submit], input[type=image]") && visible(each)
    );
    const closed = form.closest("details:not([open])");
    if (!button && !closed && visible(form)) found.push(`no button sends the form ${form.action}`);
  }
  for (const button of document.querySelectorAll("button[type=button]:not([popovertarget], [commandfor])")) {
    if (visible(button)) found.push(`a button that needs a script: ${button.textContent.trim()}`);
  }
  for (const link of document.querySelectorAll("a[href='#'], a[href^='javascript:']")) {
    if (visible(link)) found.push(`a link that needs a script: ${link.textContent.trim()}`);
  }
  return found;
}
