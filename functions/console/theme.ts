/**
 * Applies the chosen colors before the first paint. This is a separate classic script, because the browser runs modules
 * later.
 */
try {
  const theme = localStorage.getItem("console.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The browser blocks storage, so use the colors of the system.
}
