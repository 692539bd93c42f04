/**
 * Applies the chosen colors before the first paint. This is a classic script, because the browser runs module scripts
 * only after the first paint.
 */
try {
  const theme = localStorage.getItem("console.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The browser blocks access to the storage, so the colors of the operating system apply.
}
