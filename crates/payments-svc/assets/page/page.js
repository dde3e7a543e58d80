// What makes typing easier. Without it, everything works; the service checks all of it again.

const form = document.querySelector("#card");
if (form) assist(form);

function assist(form) {
  const { number, expiry, code } = form.elements;
  const fields = [
    { input: number, problem: () => /^\d{12,19}$/.test(digits(number.value)) ? null : "malformed" },
    { input: expiry, problem: () => expiryProblem(expiry.value) },
    { input: code, problem: () => /^\d{3,4}$/.test(code.value) ? null : "malformed" },
  ];

  retype(number, (text) => digits(text).slice(0, 19).replace(/\d{4}(?=\d)/g, "$& "));
  retype(expiry, (text, isErasing) => {
    const padded = digits(text.replace(/^\s*(\d)\s*[/.-]/, "0$1")).replace(/^[2-9]/, "0$&");
    const [month, year] = [padded.slice(0, 2), padded.slice(2, 6)];
    return year || (month.length === 2 && !isErasing) ? `${month} / ${year}` : month;
  });
  retype(code, (text) => digits(text).slice(0, 4));
  number.addEventListener("input", () => form.querySelector("#scheme").value = scheme(number.value));

  for (const { input, problem } of fields) {
    // When the next field is entered, not when this one is left: that may be for the button, which
    // would move away from under the pointer.
    form.addEventListener("focusin", ({ target }) => {
      const isLeft = target !== input && target.matches("input") && input.value !== "";
      if (isLeft && problem()) mark(input, problem());
    });
    input.addEventListener("input", () => {
      if (input.getAttribute("aria-invalid") && !problem()) mark(input, null);
    });
  }

  form.addEventListener("submit", (event) => {
    for (const { input, problem } of fields) mark(input, problem());
    const wrong = fields.filter(({ problem }) => problem());
    const errors = form.querySelector("#errors");
    if (wrong.length > 0) {
      event.preventDefault();
      errors.textContent ||= errors.dataset.text;
      errors.hidden = false;
      wrong[0].input.focus();
      return;
    }
    errors.hidden = true;
    form.querySelector("button").disabled = true;
  });
  // Whoever comes back to the page as it was left may send it again.
  addEventListener("pageshow", () => form.querySelector("button").disabled = false);
}

function digits(text) {
  return text.replace(/\D/g, "");
}

// Rewrites what is typed, with the cursor after the same digit as before.
function retype(input, rewrite) {
  input.addEventListener("input", (event) => {
    const before = digits(input.value.slice(0, input.selectionEnd)).length;
    const isAtEnd = input.selectionEnd === input.value.length;
    const text = rewrite(input.value, event.inputType?.startsWith("delete"));
    if (text === input.value) return;
    input.value = text;
    let at = 0;
    for (let seen = 0; seen < before; at += 1) seen += /\d/.test(text[at] ?? "0") ? 1 : 0;
    at = isAtEnd ? text.length : at;
    input.setSelectionRange(at, at);
  });
}

function expiryProblem(text) {
  const [, month, year] = /^(\d{2})(\d{2}|\d{4})$/.exec(digits(text)) ?? [];
  if (!month || month < 1 || month > 12) return "malformed";
  // The first of the month after it, in UTC.
  const end = Date.UTC(year.length === 2 ? 2000 + Number(year) : Number(year), Number(month));
  return end > Date.now() ? null : "past";
}

function scheme(text) {
  const first = digits(text)[0];
  if (!first) return "";
  return first === "2" || first === "5" ? "Mastercard" : "Visa";
}

// Shows the text that the field has for the problem, if it has more than one.
function mark(input, problem) {
  const error = document.getElementById(`${input.id}-error`);
  error.hidden = !problem;
  error.textContent = input.dataset[problem] ?? error.textContent;
  if (problem) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}
