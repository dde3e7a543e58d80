// System fonts: the ones it would choose come from another origin.
Redoc.init(
  "/openapi.json",
  { hideLoading: true, theme: { typography: { fontFamily: "system-ui, sans-serif", headings: { fontFamily: "system-ui, sans-serif" } } } },
  document.getElementById("redoc"),
);
