// What was wrong while Tab went through the page: [] when nothing was.
() => {
  const { needed, reached, invisible, outside } = window.goblinWatch;
  const key = (each) => (each.type === "radio" ? `${each.form?.id}/${each.name}` : each);
  return [
    ...needed.filter((each) => !reached.has(key(each))).map((each) => `never reached: ${window.goblinName(each)}`),
    ...[...invisible].map((each) => `no sign of the focus: ${each}`),
    ...[...outside].map((each) => `focused out of sight: ${each}`),
  ].slice(0, 12);
}
