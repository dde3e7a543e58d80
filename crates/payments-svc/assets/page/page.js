// What makes typing easier. Without it, everything works; the service checks all of it again.
// Before this line stands the table SCHEMES: first and last six digits, name, brand, lengths of the
// number, lengths of the security code.

const form = document.querySelector("#card");
if (form) assist(form);

const tokenized = document.querySelector("#tokenized");
if (tokenized) tokenize(tokenized);

for (const time of document.querySelectorAll("time")) {
  const style = { dateStyle: "long", timeStyle: "short" };
  const format = new Intl.DateTimeFormat(document.documentElement.lang, style);
  time.textContent = format.format(new Date(time.dateTime));
}

// A button that was pressed shows that it works, and cannot be pressed again.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    event.submitter?.setAttribute("aria-busy", "true");
    // Disabled after the form was sent, because a disabled button does not send its value.
    setTimeout(() => setDisabled(form, true));
  });
  addEventListener("pageshow", () => setDisabled(form, false));
}

// Waits for the outcome of the payment, and then shows it. A refresh every two seconds would make a
// screen reader start again each time.
if (document.querySelector("[data-waits]")) setTimeout(awaitOutcome, 2000);

async function awaitOutcome() {
  const response = await fetch(location.href).catch(() => null);
  const isAnswer = response && response.status < 500;
  const page = isAnswer ? await response.text().catch(() => null) : null;
  const shown = page && new DOMParser().parseFromString(page, "text/html");
  if (shown && !shown.querySelector("[data-waits]")) location.reload();
  else setTimeout(awaitOutcome, 2000);
}

// Back on a page that the browser kept as it was left: the payment may have gone on since.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});

function setDisabled(form, isDisabled) {
  for (const button of form.querySelectorAll("button")) {
    button.disabled = isDisabled;
    if (!isDisabled) button.removeAttribute("aria-busy");
  }
}

function assist(form) {
  const { number, expiry, code } = form.elements;
  const ofNumber = () => schemeOf(digits(number.value));
  const fields = [
    { input: number, problem: () => isOneOf(ofNumber().lengths, number) ? null : "malformed" },
    { input: expiry, problem: () => expiryProblem(expiry.value) },
    { input: code, problem: () => isOneOf(ofNumber().codes, code) ? null : "malformed" },
  ];

  retype(number, (text) => grouped(digits(text).slice(0, Math.max(...schemeOf(digits(text)).lengths))));
  retype(expiry, (text, isErasing) => {
    const padded = digits(text.replace(/^\s*(\d)\s*[/.-]/, "0$1")).replace(/^[2-9]/, "0$&");
    const [month, year] = [padded.slice(0, 2), padded.slice(2, 6)];
    return year || (month.length === 2 && !isErasing) ? `${month} / ${year}` : month;
  });
  retype(code, (text) => digits(text).slice(0, Math.max(...ofNumber().codes)));
  number.addEventListener("input", () => show(ofNumber()));
  show(ofNumber());

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
    const message = form.querySelector("#errors");
    message.classList.toggle("sent", wrong.length === 0);
    message.textContent = wrong.length === 0 ? message.dataset.sent : message.dataset.wrong;
    if (wrong.length === 0) return;
    event.preventDefault();
    wrong[0].input.focus();
  });
}

// The customer types the card into a field of Stripe's script. Only its token comes to this page.
function tokenize(form) {
  const [message, element] = [form.querySelector("#errors"), form.querySelector("#element")];
  const fail = (text) => {
    message.textContent = text;
    setDisabled(form, false);
  };
  const stripe = window.Stripe?.(element.dataset.key, { locale: document.documentElement.lang });
  const card = stripe?.elements().create("card", {
    hidePostalCode: true,
    style: { base: { color: getComputedStyle(form).color, fontSize: "18px" } },
  });
  if (card) card.mount("#element");
  else fail(element.dataset.unavailable);

  form.addEventListener("submit", async (event) => {
    const field = form.elements.paymentMethod;
    if (field.value) return;
    event.preventDefault();
    if (!card) return;
    setDisabled(form, true);
    event.submitter?.setAttribute("aria-busy", "true");
    const made = await stripe.createPaymentMethod({ type: "card", card }).catch(() => null);
    if (!made) return fail(element.dataset.unavailable);
    if (made.error) return fail(made.error.message ?? message.dataset.wrong);
    field.value = made.paymentMethod.id;
    message.classList.add("sent");
    message.textContent = message.dataset.sent;
    setDisabled(form, false);
    form.requestSubmit();
  });
}

function digits(text) {
  return text.replace(/\D/g, "");
}

function isOneOf(lengths, input) {
  const text = digits(input.value);
  const isNumber = input.name === "number";
  return lengths.includes(text.length) && !(isNumber && isLive() && !hasCheckDigit(text));
}

function isLive() {
  return !document.querySelector(".test");
}

// The check digit of ISO/IEC 7812-1 (Luhn).
function hasCheckDigit(number) {
  const weighed = [...number].reverse().map((digit, at) => at % 2 ? digit * 2 - (digit > 4 ? 9 : 0) : Number(digit));
  return weighed.reduce((sum, digit) => sum + digit, 0) % 10 === 0;
}

// The scheme of all numbers that start with these digits.
function schemeOf(number) {
  const [least, most] = ["0", "9"].map((digit) => Number(number.slice(0, 6).padEnd(6, digit)));
  const inside = ([first, last]) => first <= least && most <= last;
  const [, , name, brand, lengths, codes] = SCHEMES.find(inside) ?? [];
  return name ? { name, brand, lengths, codes } : { lengths: [12, 13, 14, 15, 16, 17, 18, 19], codes: [3, 4] };
}

// As printed on the cards: 4-6-5 for 15 digits of American Express, 4-6-4 for 14 of Diners Club.
function grouped(number) {
  const { name } = schemeOf(number);
  const isShort = name === "amex" || (name === "diners" && number.length <= 14);
  const groups = isShort ? /^(\d{1,4})(\d{1,6})?(\d+)?$/ : null;
  if (groups) return (groups.exec(number) ?? []).slice(1).filter(Boolean).join(" ");
  return number.replace(/\d{4}(?=\d)/g, "$& ");
}

function show({ name, brand }) {
  const shown = document.querySelector("#scheme");
  if (shown.dataset.name === (name ?? "")) return;
  shown.dataset.name = name ?? "";
  shown.textContent = brand ?? "";
  if (!name) return;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#${name}`);
  svg.setAttribute("class", "brand");
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  shown.prepend(svg);
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

// Attaches the text for the problem to the field, or removes it.
function mark(input, problem) {
  const error = document.getElementById(`${input.id}-error`);
  error.hidden = !problem;
  error.textContent = problem ? input.dataset[problem] : "";
  const hint = document.getElementById(`${input.id}-hint`)?.id;
  const described = [hint, problem && error.id].filter(Boolean).join(" ");
  if (described) input.setAttribute("aria-describedby", described);
  else input.removeAttribute("aria-describedby");
  if (problem) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}
