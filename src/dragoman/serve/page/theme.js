// Light, dark, or as the system has it.

const KEY = "dragoman-theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const SAID = { system: "as the system", light: "light", dark: "dark" };

export function startTheme() {
  const toggle = document.getElementById("theme");
  const apply = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    toggle.setAttribute("aria-label", `Colours: ${SAID[theme]}. Change to ${SAID[NEXT[theme]]}`);
    toggle.title = `Colours: ${SAID[theme]}`;
  };
  let theme = localStorage.getItem(KEY) ?? "system";
  if (!(theme in NEXT)) theme = "system";
  apply(theme);
  toggle.addEventListener("click", () => {
    theme = NEXT[theme];
    localStorage.setItem(KEY, theme);
    apply(theme);
  });
}
