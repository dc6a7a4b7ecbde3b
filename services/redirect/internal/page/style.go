package page

// style is that of all pages, so that one hash allows it. Text has a contrast of 4.5 to 1
// at least in both schemes, edges of fields and the focus ring 3 to 1 (WCAG AA).
const style = `:root{color-scheme:light dark;--bg:#f4f4f2;--card:#fff;--line:#e2e2dd;--edge:#85888f;--fg:#191a1c;--dim:#5a5e65;--act:#1f4fd0;--on:#fff;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--bg:#0f1012;--card:#17181b;--line:#2a2c31;--edge:#7b7f88;--fg:#ededef;--dim:#a6aab2;--act:#8db4ff;--on:#0b1326;--bad:#ffa198}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;background:var(--bg);color:var(--fg);font:1.0625rem/1.55 system-ui,sans-serif}
main{width:100%;max-width:27rem;padding:clamp(1.5rem,7vw,2rem);background:var(--card);border:1px solid var(--line);border-radius:1rem;overflow-wrap:anywhere}
svg{display:block;width:2.25rem;height:2.25rem;margin:0 0 1.25rem;color:var(--act)}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25;text-wrap:balance}
p{margin:0;color:var(--dim)}
dl{display:grid;grid-template-columns:auto 1fr;gap:.375rem 1rem;margin:1.25rem 0 0}
dt{color:var(--dim)}
dd{margin:0}
form{margin:1.5rem 0 0}
label{display:block;margin:0 0 .375rem;font-weight:600}
input,button,.go{width:100%;min-height:3rem;padding:.625rem .875rem;font:inherit;border-radius:.625rem}
input{color:var(--fg);background:var(--bg);border:1px solid var(--edge)}
button,.go{display:block;margin:1rem 0 0;border:0;background:var(--act);color:var(--on);font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
.go{margin:1.5rem 0 0}
:focus-visible{outline:3px solid var(--act);outline-offset:2px}
.bad{margin:1rem 0 0;color:var(--bad);font-weight:600}
.note{margin:1rem 0 0;font-size:.9375rem}
`

// styleHash lets browsers use style and no other. page_test.go holds it against style.
const styleHash = "sha256-eqPm+NMXNZevSV/EK0fMrzMXTioRgT5am7TRXciy4kc="
