// A request as code: a command, and programs that print what the service answers.

import { command } from '/page.js';

const PYTHON = {
  step: '    ',
  words: { true: 'True', false: 'False', null: 'None' },
  text: (text) => JSON.stringify(text),
  key: (name) => JSON.stringify(name),
};
// Without `<`, the code can also stand in the script of a page.
const JAVASCRIPT = {
  step: '  ',
  words: {},
  text: (text) => JSON.stringify(text).replace(/<(?=\/|!--|script)/gi, '\\x3c'),
  key: (name) => (/^[a-z_$][\w$]*$/i.test(name) ? name : JAVASCRIPT.text(name)),
};

/** By the name of the language: the code of a request. */
export const snippets = {
  curl: (request) => command('curl -i', request),
  python,
  javascript,
};

function python({ method, url, headers, body, redirects }) {
  const { value, text } = contentOf(body);
  // With `json`, requests sets the content type.
  const { 'Content-Type': type, ...others } = headers;
  const named = value ? others : headers;
  const code = (it) => literal(it, PYTHON, PYTHON.step);
  const options = [
    Object.keys(named).length > 0 && `headers=${code(named)}`,
    value && `json=${code(value)}`,
    text !== undefined && `data=${code(text)}.encode()`,
    redirects && 'allow_redirects=False',
  ].filter(Boolean);
  const list = options.length === 0
    ? code(url)
    : `\n${[code(url), ...options].map((option) => `${PYTHON.step}${option},\n`).join('')}`;
  return `import requests\n\nresponse = requests.${method.toLowerCase()}(${list})\n`
    + 'print(response.status_code, response.text)\n';
}

function javascript({ method, url, headers, body, redirects }) {
  const { value, text } = contentOf(body);
  const code = (it) => literal(it, JAVASCRIPT, JAVASCRIPT.step);
  const options = [
    method !== 'GET' && `method: ${code(method)}`,
    Object.keys(headers).length > 0 && `headers: ${code(headers)}`,
    value && `body: JSON.stringify(${code(value)})`,
    text !== undefined && `body: ${code(text)}`,
    redirects && 'redirect: "manual"',
  ].filter(Boolean);
  const list = options.length === 0 ? '' : `, {\n${options.map((option) => `${JAVASCRIPT.step}${option},\n`).join('')}}`;
  return `const response = await fetch(${code(url)}${list});\nconsole.log(response.status, await response.text());\n`;
}

/** The object that a body is, or else its text: numbers, repeated members and mistakes stay as they were typed. */
function contentOf(body) {
  try {
    const value = JSON.parse(body);
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
    const same = [undefined, 2].some((indent) => JSON.stringify(value, null, indent) === body);
    // As a literal, this name would set the prototype.
    if (isObject && same && !body.includes('"__proto__"')) return { value };
  } catch {
    // It is shown as it stands.
  }
  return { text: body };
}

/** A JSON value as a literal of the language. */
function literal(value, language, indent) {
  if (typeof value === 'string') return language.text(value);
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, language, indent)).join(', ')}]`;
  if (value === null || typeof value !== 'object') return language.words[value] ?? String(value);
  const inner = indent + language.step;
  const members = Object.entries(value)
    .map(([name, member]) => `${inner}${language.key(name)}: ${literal(member, language, inner)},\n`);
  return members.length === 0 ? '{}' : `{\n${members.join('')}${indent}}`;
}
