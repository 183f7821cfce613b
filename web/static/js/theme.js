// Before the first paint, so that nothing flashes: the theme chosen here, else the system's.
(() => {
  const light = matchMedia("(prefers-color-scheme: light)");
  const chosen = () => {
    try {
      return localStorage.getItem("livelens.theme");
    } catch {
      return null; // storage may be forbidden
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (light.matches ? "light" : "dark");
  };
  light.addEventListener("change", apply);
  apply();
})();
