/** Applies the chosen colours before the first paint. It is a separate classic script, because modules run later. */
try {
  const theme = localStorage.getItem("console.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The browser blocks storage: follow the system.
}
