// What makes typing easier. Without it, everything works; the service checks all of it again.
// Before this line stands the table SCHEMES: first and last six digits, name, brand, lengths of the
// number, lengths of the security code.

const form = document.querySelector("#card");
if (form) assist(form);

const tokenized = document.querySelector("#tokenized");
if (tokenized) tokenize(tokenized);

// The language of the page, as in the customer's country, and in the customer's time zone.
for (const time of document.querySelectorAll("time")) {
  const { lang } = document.documentElement;
  const locale = navigator.languages.find((it) => it.split("-")[0] === lang) ?? lang;
  // The browser would write the date in its own language.
  if (!Intl.DateTimeFormat.supportedLocalesOf(locale).length) continue;
  const day = { day: "numeric", month: "long", year: "numeric" };
  const clock = { hour: "numeric", minute: "2-digit", timeZoneName: "short" };
  time.textContent = new Intl.DateTimeFormat(locale, { ...day, ...clock }).format(new Date(time.dateTime));
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
  const { number, expiry, code, email } = form.elements;
  const ofNumber = () => schemeOf(digits(number.value));
  const fields = [
    { input: number, problem: () => numberProblem(digits(number.value), ofNumber()) },
    { input: expiry, problem: () => expiryProblem(expiry.value) },
    { input: code, problem: () => ofNumber().codes.includes(digits(code.value).length) ? null : codeOf(ofNumber()) },
  ];
  if (email) fields.push({ input: email, problem: () => email.validity.valid ? null : "malformed" });

  retype(number, (text) => grouped(digits(text)) || text);
  retype(expiry, monthAndYear);
  retype(code, (text) => digits(text) || text);
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

  const message = form.querySelector("#errors");
  const title = document.title.replace(`${message.dataset.wrong} – `, "");
  form.addEventListener("submit", (event) => {
    for (const { input, problem } of fields) mark(input, problem());
    const wrong = fields.filter(({ problem }) => problem());
    message.classList.toggle("sent", wrong.length === 0);
    message.textContent = wrong.length === 0 ? message.dataset.sent : message.dataset.wrong;
    if (wrong.length === 0) return;
    event.preventDefault();
    document.title = `${message.dataset.wrong} – ${title}`;
    message.append(summary(wrong.map(({ input, problem }) => [input, problem()])));
    wrong[0].input.focus();
  });
}

// The errors again, as links to their fields.
function summary(errors) {
  const list = document.createElement("ul");
  for (const [input, problem] of errors) {
    const [item, link] = [document.createElement("li"), document.createElement("a")];
    link.href = `#${input.id}`;
    link.textContent = input.dataset[problem];
    item.append(link);
    list.append(item);
  }
  return list;
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
    if (!card || form.elements.email?.reportValidity() === false) return;
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

// The digits of a text in any script, as ASCII.
function digits(text) {
  return (text.match(/\p{Decimal_Number}/gu) ?? []).map(ascii).join("");
}

// The digits of each script follow one another, from 0 to 9.
function ascii(digit) {
  const code = digit.codePointAt(0);
  let first = code;
  while (/\p{Decimal_Number}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return (code - first) % 10;
}

function numberProblem(number, { lengths }) {
  if (!lengths.includes(number.length)) return "malformed";
  return isLive() && !hasCheckDigit(number) ? "typo" : null;
}

// The name of the text about the security code.
function codeOf({ codes }) {
  if (codes.length > 1) return "malformed";
  return codes[0] === 3 ? "back" : "front";
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

function show(scheme) {
  const { name, brand } = scheme;
  const hint = document.querySelector("#code-hint");
  hint.textContent = scheme.codes.length > 1 ? hint.dataset.any : document.querySelector("#code").dataset[codeOf(scheme)];
  document.querySelector("#accepted").hidden = Boolean(name);
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

// Rewrites what is typed, with the cursor after the same digit as before. `rewrite` gets the text and
// what has happened to it: "typed" for a single character, "erased", or "filled".
function retype(input, rewrite) {
  let isRewriting = false;
  const apply = (happened) => {
    const before = digits(input.value.slice(0, input.selectionEnd)).length;
    const isAtEnd = input.selectionEnd === input.value.length;
    const text = rewrite(input.value, happened);
    if (text === input.value) return;
    isRewriting = true;
    replace(input, text);
    isRewriting = false;
    let at = 0;
    for (let seen = 0; seen < before; at += 1) seen += /\d/.test(text[at] ?? "0") ? 1 : 0;
    at = isAtEnd ? text.length : at;
    if (document.activeElement === input) input.setSelectionRange(at, at);
  };
  input.addEventListener("input", ({ inputType = "", data }) => {
    if (isRewriting || inputType.startsWith("history")) return;
    const isTyped = data?.length === 1 || inputType === "insertCompositionText";
    apply(inputType.startsWith("delete") ? "erased" : isTyped ? "typed" : "filled");
  });
  input.addEventListener("change", () => apply("filled"));
  // Deletes the next digit, not the space before it, which would come back.
  input.addEventListener("beforeinput", ({ inputType }) => {
    const { value, selectionStart, selectionEnd } = input;
    let at = selectionStart;
    if (at !== selectionEnd) return;
    const isSpace = (place) => /[^\p{Decimal_Number}]/u.test(value[place] ?? "0");
    if (inputType === "deleteContentForward") while (isSpace(at)) at += 1;
    if (inputType === "deleteContentBackward") while (isSpace(at - 1)) at -= 1;
    if (at !== selectionStart) input.setSelectionRange(at, at);
  });
}

// Replaces the text. The command keeps what the browser can undo.
function replace(input, text) {
  if (document.activeElement === input) {
    input.select();
    if (text && document.execCommand("insertText", false, text)) return;
  }
  input.value = text;
}

// "08 / 29". Text that cannot be read stays as it is.
function monthAndYear(text, happened) {
  if (happened === "erased") return text.replace(/[^\p{Decimal_Number}]+$/u, "");
  if (happened === "filled") {
    const [month, year] = expiryOf(text) ?? [];
    return month ? `${month.padStart(2, "0")} / ${year}` : text;
  }
  const shown = text.replace(/\p{Decimal_Number}/gu, ascii);
  const [, month, year] = /^(0[1-9]|1[0-2]|[1-9](?=\D))\D*(\d{0,4})$/.exec(shown) ?? [];
  return month ? `${month.padStart(2, "0")} / ${year}` : text;
}

// The month and the year in a text. The service reads the same: `Expiry::parse_input`.
function expiryOf(text) {
  const groups = text.replace(/\p{Decimal_Number}/gu, ascii).match(/\d+/g) ?? [];
  const [all] = groups;
  let pairs = groups.length === 2 ? [groups] : [];
  if (groups.length === 1 && (all.length % 2 === 0 || !all.startsWith("1"))) {
    pairs = [2 - all.length % 2, all.length - 2].map((at) => [all.slice(0, at), all.slice(at)]);
  }
  const isMonth = (group) => /^(0?[1-9]|1[0-2])$/.test(group);
  const isYear = (group) => /^(\d\d|[2-9]\d{3})$/.test(group);
  for (const [one, other] of pairs) {
    if (isMonth(one) && isYear(other)) return [one, other];
    if (isMonth(other) && isYear(one) && one > "12") return [other, one];
  }
  return null;
}

function expiryProblem(text) {
  const [month, year] = expiryOf(text) ?? [];
  if (!month) return "malformed";
  const full = year.length === 2 ? `20${year}` : year;
  // Noon after the last day in UTC: then the month has ended everywhere.
  return Date.UTC(full, month, 1, 12) > Date.now() ? null : "past";
}

// Attaches the text for the problem to the field, or removes it.
function mark(input, problem) {
  const error = document.getElementById(`${input.id}-error`);
  error.hidden = !problem;
  error.textContent = problem ? input.dataset[problem] : "";
  const hint = document.getElementById(`${input.id}-hint`);
  if (hint) hint.hidden = Boolean(problem);
  const described = problem ? error : hint;
  if (described) input.setAttribute("aria-describedby", described.id);
  else input.removeAttribute("aria-describedby");
  if (problem) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}
