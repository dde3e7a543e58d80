// System fonts: the ones it would choose come from another origin.
const FONTS = { fontFamily: "system-ui, sans-serif", headings: { fontFamily: "system-ui, sans-serif" } };

const DARK = {
  colors: {
    primary: { main: "#9dbdf0" },
    success: { main: "#84cf9c" },
    warning: { main: "#e8b868", contrastText: "#1c2022" },
    error: { main: "#f29b92" },
    gray: { 50: "#31363c", 100: "#3d434a" },
    text: { primary: "#e4e6e6", secondary: "#b7bcbf" },
    border: { dark: "#777e88", light: "#31363c" },
    responses: {
      success: { color: "#84cf9c", tabTextColor: "#84cf9c" },
      error: { color: "#f29b92", tabTextColor: "#f29b92" },
      redirect: { color: "#9dbdf0", tabTextColor: "#9dbdf0" },
      info: { color: "#9dbdf0", tabTextColor: "#9dbdf0" },
    },
  },
  schema: { nestedBackground: "#24292d", linesColor: "#777e88", typeNameColor: "#b7bcbf", typeTitleColor: "#b7bcbf", requireLabelColor: "#f29b92" },
  typography: {
    ...FONTS,
    code: { color: "#eab27c", backgroundColor: "#2b3035" },
    links: { color: "#9dbdf0", visited: "#9dbdf0", hover: "#c5d8f7" },
  },
  sidebar: { backgroundColor: "#15171a", textColor: "#e4e6e6" },
  rightPanel: { backgroundColor: "#15171a", textColor: "#e4e6e6" },
  codeBlock: { backgroundColor: "#0d0f11" },
  fab: { backgroundColor: "#31363c", color: "#e4e6e6" },
};

// It draws the page once, with the colours of its theme.
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => location.reload());

Redoc.init(
  "/openapi.json",
  { hideLoading: true, theme: dark.matches ? DARK : { typography: FONTS } },
  document.getElementById("redoc"),
);
