/** Applies the chosen colours before the first paint. This file is a script of its own, because modules run later. */
try {
  const theme = localStorage.getItem("console.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The browser blocks storage: follow the system.
}
