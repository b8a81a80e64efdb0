// What every script of the page shares: theme, paper, and when to draw anew. It reads and sends nothing else.
const page = (() => {
  'use strict';
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const changed = []; // called when theme, width or paper change
  const state = {printing: false, dark: () => !state.printing && (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches), onChange: f => changed.push(f)};
  const renew = () => changed.forEach(f => f());

  let width = root.clientWidth;
  addEventListener('resize', () => {
    if (state.printing || root.clientWidth === width) return;
    width = root.clientWidth;
    renew();
  });
  system.addEventListener('change', renew);
  const theme = document.getElementById('theme');
  theme.hidden = false;
  theme.addEventListener('click', () => {
    root.dataset.theme = state.dark() ? 'light' : 'dark';
    renew();
  });
  // What a button did stands on it for two seconds.
  state.did = (button, text, after) => {
    const was = button.textContent;
    button.textContent = text;
    button.disabled = true;
    setTimeout(() => {
      [button.textContent, button.disabled] = [was, false];
      if (after) after();
    }, 2000);
  };
  let folded = [];
  addEventListener('beforeprint', () => {
    state.printing = true;
    folded = [...document.querySelectorAll('details:not([open])')];
    for (const d of folded) d.open = true;
    renew();
  });
  addEventListener('afterprint', () => {
    state.printing = false;
    for (const d of folded) d.open = false;
    renew();
  });
  return state;
})();
